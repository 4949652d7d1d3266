// SPDX-License-Identifier: Apache-2.0
#include "headrace/cli/command.h"
#include "headrace/cli/output.h"
#include "headrace/cli/schedule_options.h"
#include "headrace/schedule/peak.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

namespace headrace::cli {
namespace {

struct Options {
  ScheduleOptions schedule;
  bool json = false;
};

int run(const Options& options) {
  const Schedule schedule = options.schedule.load();
  if (const auto violations = verify(schedule); !violations.empty())
    return report_violations(options.schedule.name(), violations, options.json);
  const auto peaks = peak_live(schedule);
  if (options.json) {
    print_json({{"ok", true},
                {"source", options.schedule.name()},
                {"name", schedule.name},
                {"ranks", schedule.rank_count()},
                {"stages", schedule.stage_count()},
                {"micro_batches", schedule.micro_batches},
                {"actions", schedule.action_count()},
                {"lowered", schedule.is_lowered()},
                {"peak_live", peaks},
                {"violations", Json::array()}});
    return kFine;
  }
  print_line(
      fmt::format("ok: {}, {} ranks, {} stages, {} micro-batches, {} actions, peak live {}, "
                  "no deadlock{}",
                  schedule.name, schedule.rank_count(), schedule.stage_count(),
                  schedule.micro_batches, schedule.action_count(), fmt::join(peaks, " "),
                  schedule.is_lowered() ? " even if sends block" : ""));
  return kFine;
}

}  // namespace

void add_verify_command(CLI::App& app, Run& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("verify", "what is wrong with a schedule, if anything");
  options->schedule.add_to(*command);
  command->add_flag("--json", options->json, "as JSON");
  command->footer(
      "Exit code 1 where a rule is broken. Example:\n"
      "  headrace schedule 1f1b --ranks 2 --micro-batches 4 --format text | headrace verify -");
  command->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace headrace::cli
