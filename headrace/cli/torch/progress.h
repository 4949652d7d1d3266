// SPDX-License-Identifier: Apache-2.0
//
// How a run shows where it is: a bar on a terminal, else a line every few seconds.
#pragma once

#include "headrace/runtime/trainer.h"

#include <chrono>
#include <string>

namespace headrace::cli {

class Progress {
 public:
  Progress(int steps, bool terminal);
  // A message about a failure must not stand in the bar's line.
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(const StepReport& report);
  // Ends the bar's line.
  void finish();

 private:
  [[nodiscard]] std::string line(const StepReport& report) const;

  int steps_;
  bool terminal_;
  bool open_ = false;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point shown_;
};

}  // namespace headrace::cli
