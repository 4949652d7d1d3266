// SPDX-License-Identifier: Apache-2.0
//
// The options that say what actions, messages and memory cost.
#pragma once

#include "headrace/cost/machine.h"
#include "headrace/cost/stage_costs.h"
#include "headrace/schedule/cost_model.h"

#include <CLI/CLI.hpp>

#include <string>

namespace headrace::cli {

class CostOptions {
 public:
  // With `required`, the three times must be given; else each is 1us if it is not.
  void add_to(CLI::App& command, bool required);

  // Throws UsageError for values that are malformed or say nothing together.
  [[nodiscard]] StageCosts stage_costs(int stages) const;
  [[nodiscard]] Machine machine(int ranks) const;
  // What automatic methods are made for; equal to ScheduleCosts{} where no option was given.
  [[nodiscard]] ScheduleCosts schedule_costs(int ranks) const;
  // Whether any option was given at all.
  [[nodiscard]] bool given() const;

 private:
  std::string forward_ = "1us";
  std::string input_grad_ = "1us";
  std::string weight_grad_ = "1us";
  std::string pair_;
  std::string latency_ = "0ns";
  std::string output_bytes_ = "0";
  std::string bandwidth_;
  std::string activation_bytes_ = "0";
  std::string memory_limit_;
  bool contend_ = false;
  CLI::App* command_ = nullptr;
};

}  // namespace headrace::cli
