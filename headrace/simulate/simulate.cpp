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

}  // namespace

Timeline simulate(const Schedule& schedule, const StageCosts& costs, const Machine& machine,
                  Detail detail) {
  check_sizes(schedule, costs, machine);
  check_values(schedule, costs, machine);
  return internal::Engine(schedule, costs, machine, detail).run();
}

}  // namespace headrace
