// SPDX-License-Identifier: Apache-2.0
//
// The options that name a schedule: a method with its sizes, or a file.
#pragma once

#include "headrace/schedule/generate.h"
#include "headrace/schedule/schedule.h"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace headrace::cli {

// Most actions that a command generates; more would take gigabytes before anything is shown.
inline constexpr std::int64_t kMostActions = 20'000'000;

class ScheduleOptions {
 public:
  // Adds the positional SCHEDULE and --ranks, --micro-batches and the options of single methods.
  void add_to(CLI::App& command);

  // The costs that automatic methods (zb-1p, zb-2p) are made for.
  void set_costs(const ScheduleCosts& costs) { request_.costs = costs; }
  // Whether the method is made for costs.
  [[nodiscard]] bool is_automatic() const;
  [[nodiscard]] int ranks() const { return request_.ranks; }
  // The same sizes for another method.
  [[nodiscard]] ScheduleRequest request_for(const std::string& method) const;

  // Generates, or reads the file ("-" is standard input). Throws UsageError where options are given
  // that a file does not use, or sizes are missing; ParseError for a malformed file. A file is not
  // verified here.
  [[nodiscard]] Schedule load() const;

  [[nodiscard]] const std::string& name() const { return request_.method; }
  [[nodiscard]] bool is_file() const;

 private:
  ScheduleRequest request_;
  CLI::Option* ranks_ = nullptr;
  CLI::Option* micro_batches_ = nullptr;
  std::vector<CLI::Option*> generator_options_;
};

// The whole of a file, or of standard input for "-". Throws IoError.
[[nodiscard]] std::string read_text(const std::string& path);

}  // namespace headrace::cli
