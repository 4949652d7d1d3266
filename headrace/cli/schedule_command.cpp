// SPDX-License-Identifier: Apache-2.0
#include "headrace/base/error.h"
#include "headrace/checkpoint/safetensors.h"
#include "headrace/cli/command.h"
#include "headrace/cli/compare.h"
#include "headrace/cli/cost_options.h"
#include "headrace/cli/output.h"
#include "headrace/cli/schedule_options.h"
#include "headrace/report/grid.h"
#include "headrace/schedule/csv.h"
#include "headrace/schedule/lower.h"
#include "headrace/schedule/peak.h"
#include "headrace/schedule/text_form.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

namespace headrace::cli {
namespace {

struct Options {
  ScheduleOptions schedule;
  std::string format = "grid";
  std::string output;
  std::string color = "auto";
  int width = 0;
  bool lowered = false;
  bool list = false;
  bool compare = false;
  bool json = false;
  CostOptions costs;
};

int list_methods(bool json) {
  if (json) {
    Json all = Json::array();
    for (const Method& m : methods())
      all.push_back({{"name", m.name},
                     {"summary", m.summary},
                     {"bubble", m.bubble},
                     {"peak", m.peak},
                     {"weights", m.weights},
                     {"messages", m.messages},
                     {"limits", m.limits},
                     {"source", m.source}});
    print_json(all);
    return kFine;
  }
  std::vector<std::vector<std::string>> rows{
      {"method", "bubble", "peak", "weights", "messages", "limits", "source"}};
  for (const Method& m : methods())
    rows.push_back({m.name, m.bubble, m.peak, m.weights, m.messages, m.limits, m.source});
  print(table(rows));
  return kFine;
}

std::string facts(const Schedule& schedule) {
  std::size_t messages = 0;
  const Schedule lowered = schedule.is_lowered() ? schedule : lower(schedule);
  for (const auto& list : lowered.ranks)
    for (const Action& a : list) messages += is_send(a.kind) ? 1 : 0;
  return fmt::format("{}: {} ranks, {} stages, {} micro-batches, {} messages; peak live {}\n",
                     schedule.name, schedule.rank_count(), schedule.stage_count(),
                     schedule.micro_batches, messages, fmt::join(peak_live(schedule), " "));
}

Json as_json(const Schedule& schedule) {
  Json ranks = Json::array();
  for (const auto& list : schedule.ranks) {
    Json actions = Json::array();
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string own = to_text(list[i], schedule.slices > 1);
      if (list[i].overlaps_next && i + 1 < list.size()) {
        actions.push_back(
            fmt::format("({};{})OVERLAP_F_B", own, to_text(list[i + 1], schedule.slices > 1)));
        ++i;
      } else {
        actions.push_back(own);
      }
    }
    ranks.push_back(actions);
  }
  Json placement = Json::array();
  for (const Placement& copy : schedule.copies) {
    Json stages = Json::array();
    for (const RankId rank : copy) stages.push_back(rank.value);
    placement.push_back(stages);
  }
  return {{"name", schedule.name},
          {"ranks", schedule.rank_count()},
          {"stages", schedule.stage_count()},
          {"micro_batches", schedule.micro_batches},
          {"slices", schedule.slices},
          {"placement", placement},
          {"peak_live", peak_live(schedule)},
          {"actions", ranks}};
}

std::string shown(const Schedule& schedule, const Options& options) {
  if (options.json) return as_json(schedule).dump() + "\n";
  if (options.format == "text") return to_text(schedule);
  if (options.format == "csv") return to_csv(schedule);
  const int width = options.width > 0 ? options.width : terminal_width();
  const bool color = options.output.empty() && use_color(options.color);
  return draw_schedule(schedule, {width, color}) + "\n" + facts(schedule);
}

int run(Options options) {
  if (options.list) return list_methods(options.json);
  if (options.compare) return compare_methods(options.schedule, options.costs, options.json);
  if (options.schedule.is_automatic())
    options.schedule.set_costs(options.costs.schedule_costs(options.schedule.ranks()));
  else if (options.costs.given())
    throw UsageError(fmt::format("{} is not made for costs; leave them out, or add --compare",
                                 options.schedule.name()));
  Schedule schedule = options.schedule.load();
  if (const auto violations = verify(schedule); !violations.empty())
    return report_violations(options.schedule.name(), violations, options.json);
  if (options.lowered && !schedule.is_lowered()) schedule = lower(schedule);
  const std::string text = shown(schedule, options);
  if (options.output.empty())
    print(text);
  else
    write_file_atomically(options.output, std::as_bytes(std::span(text)));
  return kFine;
}

}  // namespace

void add_schedule_command(CLI::App& app, Run& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("schedule", "draw, print or convert a schedule");
  options->schedule.add_to(*command);
  command->add_option("--format", options->format, "grid, text (our form) or csv (PyTorch's)")
      ->check(CLI::IsMember({"grid", "text", "csv"}));
  command->add_flag("--lowered", options->lowered, "with sends and receives");
  command->add_option("-o,--output", options->output, "write to this file");
  command->add_option("--width", options->width, "columns of the grid")
      ->check(CLI::Range(40, 10000));
  command->add_option("--color", options->color, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  command->add_flag("--list", options->list, "list the methods");
  command->add_flag("--compare", options->compare,
                    "all methods side by side for these sizes and costs");
  options->costs.add_to(*command, false);
  command->add_flag("--json", options->json, "as JSON");
  command->footer(
      "Examples:\n  headrace schedule 1f1b --ranks 4 --micro-batches 8\n"
      "  headrace schedule --compare --ranks 4 --micro-batches 8 --latency 100ns");
  command->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace headrace::cli
