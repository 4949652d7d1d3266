// SPDX-License-Identifier: Apache-2.0
//
// A command adds its options to the program, and runs. Only commands print.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>

namespace headrace::cli {

// Exit codes; docs/errors.md.
inline constexpr int kFine = 0;
inline constexpr int kFinding = 1;
inline constexpr int kUsage = 2;
inline constexpr int kEnvironment = 3;

// What add_* hands over: runs the parsed command and returns the exit code.
using Run = std::function<int()>;

// Each adds one subcommand to `app` and sets `chosen` when the user picks it.
void add_schedule_command(CLI::App& app, Run& chosen);
void add_verify_command(CLI::App& app, Run& chosen);
void add_simulate_command(CLI::App& app, Run& chosen);

// In cli/torch, absent from a build without LibTorch.
void add_train_command(CLI::App& app, Run& chosen);

}  // namespace headrace::cli
