// SPDX-License-Identifier: Apache-2.0
#include "headrace/base/error.h"
#include "headrace/cli/command.h"
#include "headrace/cli/cost_options.h"
#include "headrace/cli/output.h"
#include "headrace/cli/schedule_options.h"
#include "headrace/report/grid.h"
#include "headrace/simulate/simulate.h"
#include "headrace/timeline/json.h"
#include "headrace/timeline/metrics.h"

#include <fmt/format.h>

#include <memory>

namespace headrace::cli {
namespace {

struct Options {
  ScheduleOptions schedule;
  CostOptions costs;
  std::string color = "auto";
  int width = 0;
  bool timeline = false;
  bool json = false;
};

Json as_json(const Schedule& schedule, const Timeline& timeline, bool with_timeline) {
  const Metrics m = measure(timeline);
  Json busy = Json::array();
  for (const Time time : m.busy) busy.push_back(time.count());
  Json memory = Json::array();
  for (const Bytes bytes : m.peak_memory) memory.push_back(bytes.value);
  Json json{{"schedule", schedule.name},
            {"ranks", schedule.rank_count()},
            {"stages", schedule.stage_count()},
            {"micro_batches", schedule.micro_batches},
            {"makespan_ns", m.makespan.count()},
            {"span_ns", m.span.count()},
            {"bubble", m.bubble},
            {"bubble_span", m.bubble_span},
            {"rank_bubble", m.rank_bubble},
            {"busy_ns", busy},
            {"peak_live", m.peak_live},
            {"peak_bytes", memory},
            {"messages", m.messages}};
  if (with_timeline) json["timeline"] = Json::parse(to_json(timeline));
  return json;
}

std::string as_text(const Schedule& schedule, const Timeline& timeline, const GridOptions& grid) {
  const Metrics m = measure(timeline);
  std::vector<std::vector<std::string>> rows{
      {"rank", "busy", "bubble", "peak live", "peak memory"}};
  for (std::size_t r = 0; r < timeline.ranks.size(); ++r)
    rows.push_back({fmt::format("{}", r), format_time(m.busy[r]),
                    fmt::format("{:.2f}%", 100 * m.rank_bubble[r]),
                    fmt::format("{}", m.peak_live[r]),
                    m.peak_memory[r].value == 0 ? "-" : format_bytes(m.peak_memory[r])});
  return draw_timeline(timeline, grid) + "\n" + table(rows) +
         fmt::format(
             "\n{}: makespan {}, span {}, bubble {:.2f}% (of the span {:.2f}%), {} messages\n",
             schedule.name, format_time(m.makespan), format_time(m.span), 100 * m.bubble,
             100 * m.bubble_span, m.messages);
}

int run(Options options) {
  if (options.schedule.is_automatic())
    options.schedule.set_costs(options.costs.schedule_costs(options.schedule.ranks()));
  const Schedule schedule = options.schedule.load();
  if (const auto violations = verify(schedule); !violations.empty())
    return report_violations(options.schedule.name(), violations, options.json);
  const Timeline timeline = simulate(schedule, options.costs.stage_costs(schedule.stage_count()),
                                     options.costs.machine(schedule.rank_count()));
  if (options.json)
    print_json(as_json(schedule, timeline, options.timeline));
  else
    print(
        as_text(schedule, timeline,
                {options.width > 0 ? options.width : terminal_width(), use_color(options.color)}));
  return kFine;
}

}  // namespace

void add_simulate_command(CLI::App& app, Run& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("simulate", "when each action would run, and the bubble");
  options->schedule.add_to(*command);
  options->costs.add_to(*command, true);
  command->add_option("--width", options->width, "columns of the picture")
      ->check(CLI::Range(40, 10000));
  command->add_option("--color", options->color, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  command->add_flag("--timeline", options->timeline, "with --json: every action and message");
  command->add_flag("--json", options->json, "as JSON");
  command->footer(
      "Example:\n  headrace simulate 1f1b --ranks 4 --micro-batches 8 --forward 1us --input-grad "
      "1us "
      "--weight-grad 1us");
  command->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace headrace::cli
