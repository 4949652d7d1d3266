// SPDX-License-Identifier: Apache-2.0
#include "headrace/simulate/simulate.h"

#include "headrace/base/error.h"
#include "headrace/simulate/internal/engine.h"

#include <fmt/format.h>

#include <algorithm>

namespace headrace {
namespace {

void check_sizes(const Schedule& schedule, const StageCosts& costs, const Machine& machine) {
  const auto stages = static_cast<std::size_t>(schedule.stage_count());
  if (costs.stages.size() != stages)
    throw UsageError(fmt::format("costs are given for {} stages, but the schedule has {}",
                                 costs.stages.size(), stages));
  if (machine.ranks.size() != schedule.ranks.size())
    throw UsageError(fmt::format("the machine has {} ranks, but the schedule has {}",
                                 machine.ranks.size(), schedule.ranks.size()));
  const auto cells =
      static_cast<std::size_t>(schedule.micro_batches) * static_cast<std::size_t>(schedule.slices);
  if (costs.per_micro_batch.empty()) return;
  if (costs.per_micro_batch.size() != stages)
    throw UsageError(
        fmt::format("times per micro-batch are given for {} stages, but the schedule "
                    "has {}",
                    costs.per_micro_batch.size(), stages));
  for (std::size_t s = 0; s < stages; ++s)
    if (costs.per_micro_batch[s].size() != cells)
      throw UsageError(
          fmt::format("stage {} has times for {} micro-batches (times slices), but the "
                      "schedule has {}",
                      s, costs.per_micro_batch[s].size(), cells));
}

void check_values(const Schedule& schedule, const StageCosts& costs, const Machine& machine) {
  const auto negative = [](Time t) { return t.count() < 0; };
  for (std::size_t s = 0; s < costs.stages.size(); ++s) {
    const StageCost& stage = costs.stages[s];
    if (negative(stage.forward) || negative(stage.input_grad) || negative(stage.weight_grad) ||
        negative(stage.recompute) || negative(stage.update))
      throw UsageError(fmt::format("stage {} has a negative time; times are 0 or more", s));
  }
  for (std::size_t r = 0; r < machine.ranks.size(); ++r)
    if (machine.ranks[r].speed_permille < 1)
      throw UsageError(fmt::format("rank {} has speed {} per mille; expected 1 or more", r,
                                   machine.ranks[r].speed_permille));
  if (machine.sends_block && !schedule.is_lowered() && schedule.rank_count() > 1)
    throw UsageError("blocking sends need a schedule with sends and receives; lower it first");
}

// The whole timeline must fit in 63 bits: no path through it is longer than every action after
// every other at the longest time there is, and no rank holds more than all activations at once.
void check_fits(const Schedule& schedule, const StageCosts& costs, const Machine& machine) {
  __extension__ using Wide = __int128;
  Wide longest = costs.pair ? costs.pair->count() : 0;
  Wide largest = 0;
  for (const StageCost& s : costs.stages) {
    longest = std::max({longest, Wide{s.forward.count()},
                        Wide{s.input_grad.count()} + s.weight_grad.count(),
                        Wide{s.recompute.count()}, Wide{s.update.count()}});
    largest = std::max(largest, Wide{s.activation.value} + s.working.value + s.weights.value +
                                    s.gradients.value + s.optimizer.value + s.output.value);
  }
  for (const auto& stage : costs.per_micro_batch)
    for (const ActionTimes& t : stage)
      longest = std::max(
          {longest, Wide{t.forward.count()}, Wide{t.input_grad.count()} + t.weight_grad.count()});
  for (const RankSpec& rank : machine.ranks)
    if (rank.speed_permille < 1000) longest = longest * 1000 / rank.speed_permille + 1;
  Wide latency = machine.link.latency.count();
  for (const auto& [ends, link] : machine.links)
    latency = std::max(latency, Wide{link.latency.count()});
  const Wide actions = static_cast<std::int64_t>(schedule.action_count());
  const Wide most = Wide{INT64_MAX} / 4;
  if ((longest + latency) * actions > most || largest * actions > most)
    throw UsageError(
        fmt::format("{} actions of these times and sizes do not fit in 63 bits of "
                    "nanoseconds or bytes; take smaller ones",
                    schedule.action_count()));
}

}  // namespace

Timeline simulate(const Schedule& schedule, const StageCosts& costs, const Machine& machine,
                  Detail detail) {
  check_sizes(schedule, costs, machine);
  check_values(schedule, costs, machine);
  check_fits(schedule, costs, machine);
  return internal::Engine(schedule, costs, machine, detail).run();
}

}  // namespace headrace
