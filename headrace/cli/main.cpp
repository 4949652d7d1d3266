// SPDX-License-Identifier: Apache-2.0
#include "headrace/base/error.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/output.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <string_view>

namespace headrace::cli {
namespace {

constexpr int kBug = 70;

int exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::Usage:
    case ErrorCode::Parse:
      return kUsage;
    case ErrorCode::Internal:
      return kBug;
    default:
      return kEnvironment;
  }
}

int fail(ErrorCode code, const std::string& message, bool json) {
  print_error(message);
  if (json) print_json({{"error", {{"code", error_code_name(code)}, {"message", message}}}});
  return exit_code_of(code);
}

#ifndef HEADRACE_WITH_TORCH
void add_absent_train_command(CLI::App& app, Run& chosen) {
  CLI::App* command = app.add_subcommand("train", "train a network (not in this build)");
  command->allow_extras();
  command->callback([&chosen] {
    chosen = [] {
      print_error(
          "train: this build has no LibTorch. Build with `make build` instead of `make core`.");
      return kEnvironment;
    };
  });
}
#endif

// CLI11 reports an unknown command as an extra argument; the nearest name helps more.
int explain_parse_error(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  if (argc > 1 && argv[1][0] != '-' &&
      std::find(names.begin(), names.end(), std::string(argv[1])) == names.end())
    return fail(ErrorCode::Usage, unknown_name("command", argv[1], names), false);
  std::string message = error.what();
  std::replace(message.begin(), message.end(), '\n', ' ');
  // An unknown option: name the nearest of the command that was meant.
  for (const CLI::App* command : app.get_subcommands()) {
    std::vector<std::string> options;
    for (const CLI::Option* option : command->get_options()) options.push_back(option->get_name());
    const auto at = message.find("--");
    const std::string word =
        at == std::string::npos ? "" : message.substr(at, message.find(' ', at) - at);
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !word.empty())
      return fail(ErrorCode::Usage,
                  command->get_name() + ": " + unknown_name("option", word, options), false);
    message = command->get_name() + ": " + message;
  }
  return fail(ErrorCode::Usage, message, false);
}

int run(int argc, char** argv) {
  CLI::App app("Pipeline-parallel training: draw, verify, simulate and run schedules.", "headrace");
  app.set_version_flag("--version", "headrace 0.1.0");
  app.require_subcommand(1);
  app.footer(
      "Example:\n  headrace schedule 1f1b --ranks 4 --micro-batches 8\n\n"
      "Each command has its own --help with an example.");
  Run chosen;
  add_schedule_command(app, chosen);
  add_verify_command(app, chosen);
  add_simulate_command(app, chosen);
#ifdef HEADRACE_WITH_TORCH
  add_train_command(app, chosen);
#else
  add_absent_train_command(app, chosen);
#endif
  if (argc < 2) {
    print(app.help());
    return kUsage;
  }
  const bool json = std::any_of(argv + 1, argv + argc,
                                [](const char* a) { return std::string_view(a) == "--json"; });
  try {
    app.parse(argc, argv);
    return chosen();
  } catch (const CLI::Success& done) {
    return app.exit(done);
  } catch (const CLI::ParseError& error) {
    return explain_parse_error(app, error, argc, argv);
  } catch (const Error& error) {
    return fail(error.code(), error.what(), json);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::Io, "out of memory; take smaller sizes", json);
  } catch (const std::exception& error) {
    return fail(ErrorCode::Internal, error.what(), json);
  }
}

}  // namespace
}  // namespace headrace::cli

int main(int argc, char** argv) {
  return headrace::cli::run(argc, argv);
}
