// SPDX-License-Identifier: Apache-2.0
#include "headrace/cli/compare.h"

#include "headrace/base/error.h"
#include "headrace/cli/command.h"
#include "headrace/cli/output.h"
#include "headrace/simulate/simulate.h"
#include "headrace/timeline/metrics.h"

#include <fmt/format.h>

#include <algorithm>

namespace headrace::cli {
namespace {

// The work of a rank is the same for all methods, so a stage of several takes its share of the
// time.
void share_out(StageCosts& costs, int parts) {
  for (StageCost& stage : costs.stages) {
    stage.forward /= parts;
    stage.input_grad /= parts;
    stage.weight_grad /= parts;
    stage.activation = Bytes(stage.activation.value / parts);
  }
  if (costs.pair) *costs.pair /= parts;
}

struct Row {
  std::string method;
  std::string refused;
  int parts = 1;  // stages per rank times slices
  Metrics metrics;
};

Row evaluate(ScheduleRequest request, const CostOptions& options) {
  Row row{request.method, "", 1, {}};
  try {
    const bool automatic = request.method == "zb-1p" || request.method == "zb-2p";
    if (automatic) request.costs = options.schedule_costs(request.ranks);
    const Schedule schedule = generate(request);
    // Copies hold as many stages again, but each micro-batch passes only one of them.
    row.parts = std::max(1, schedule.stage_count() / schedule.rank_count()) * schedule.slices;
    StageCosts costs = options.stage_costs(schedule.stage_count());
    share_out(costs, row.parts);
    row.metrics = measure(simulate(schedule, costs, options.machine(schedule.rank_count())));
  } catch (const UsageError& error) {
    row.refused = error.what();
  }
  return row;
}

// Options of single methods are dropped for the others.
ScheduleRequest fitting(const ScheduleOptions& options, const std::string& method) {
  ScheduleRequest request = options.request_for(method);
  const auto is = [&](std::initializer_list<const char*> names) {
    return std::find(names.begin(), names.end(), method) != names.end();
  };
  if (!is({"interleaved-1f1b", "interleaved-zb", "looped-bfs", "forward-only"}))
    request.stages_per_rank = 0;
  if (!is({"interleaved-1f1b", "interleaved-zb", "pipedream-2bw"})) request.group = 0;
  if (!is({"hanayo"})) request.waves = 0;
  if (!is({"chimera"})) request.pairs = 0;
  if (!is({"terapipe", "seq1f1b"})) request.slices = 0;
  if (!is({"1f1b", "eager-1f1b"})) request.in_flight = 0;
  if (!is({"gpipe"})) request.reverse = false;
  if (!is({"pipedream"})) request.vertical_sync = false;
  return request;
}

// In micro-batches of a whole rank: parts of stages and slices count as their share.
double peak_of(const Row& row) {
  const auto& live = row.metrics.peak_live;
  return static_cast<double>(*std::max_element(live.begin(), live.end())) / row.parts;
}

Json as_json(const Row& row) {
  if (!row.refused.empty()) return {{"method", row.method}, {"refused", row.refused}};
  const Metrics& m = row.metrics;
  return {{"method", row.method},  {"makespan_ns", m.makespan.count()}, {"span_ns", m.span.count()},
          {"bubble", m.bubble},    {"bubble_span", m.bubble_span},      {"peak_live", m.peak_live},
          {"messages", m.messages}};
}

}  // namespace

int compare_methods(const ScheduleOptions& schedule, const CostOptions& costs, bool json) {
  std::vector<std::string> names = method_names();
  if (!schedule.name().empty()) names = {schedule.name()};
  std::vector<Row> rows;
  for (const std::string& name : names) rows.push_back(evaluate(fitting(schedule, name), costs));
  if (json) {
    Json all = Json::array();
    for (const Row& row : rows) all.push_back(as_json(row));
    print_json(all);
    return kFine;
  }
  std::vector<std::vector<std::string>> cells{
      {"method", "makespan", "span", "bubble", "of span", "peak", "messages"}};
  std::string refused;
  for (const Row& row : rows) {
    if (!row.refused.empty()) {
      refused += row.refused + "\n";
      continue;
    }
    const Metrics& m = row.metrics;
    cells.push_back({row.method, format_time(m.makespan), format_time(m.span),
                     fmt::format("{:.2f}%", 100 * m.bubble),
                     fmt::format("{:.2f}%", 100 * m.bubble_span),
                     fmt::format("{:.1f}", peak_of(row)), fmt::format("{}", m.messages)});
  }
  print(table(cells));
  print_line("\npeak: activations on the worst rank, in micro-batches of all its stages");
  if (!refused.empty()) print("\nnot at these sizes:\n" + refused);
  return kFine;
}

}  // namespace headrace::cli
