// SPDX-License-Identifier: Apache-2.0
#include "headrace/runtime/predict.h"

#include "headrace/cost/machine.h"
#include "headrace/simulate/simulate.h"

#include <algorithm>

namespace headrace {

StageCosts costs_from(const Timeline& measured, const Schedule& schedule) {
  StageCosts costs = uniform_costs(schedule.stage_count(), Time(0), Time(0), Time(0));
  const auto cells = static_cast<std::size_t>(schedule.micro_batches * schedule.slices);
  costs.per_micro_batch.assign(costs.stages.size(), std::vector<ActionTimes>(cells));
  for (const RankTimeline& rank : measured.ranks)
    for (std::size_t i = 0; i < rank.actions.size(); ++i) {
      const TimedAction& timed = rank.actions[i];
      const Action& a = timed.action;
      if (!is_compute(a.kind)) continue;
      const bool paired = a.overlaps_next || (i > 0 && rank.actions[i - 1].action.overlaps_next);
      const Time took = (timed.end - timed.start) / (paired ? 2 : 1);
      ActionTimes& times =
          costs.per_micro_batch[a.stage.index()]
                               [a.micro_batch.index() * static_cast<std::size_t>(schedule.slices) +
                                static_cast<std::size_t>(a.slice)];
      if (a.kind == ActionKind::Forward) times.forward = took;
      if (a.kind == ActionKind::Backward || a.kind == ActionKind::InputGrad)
        times.input_grad = took;
      if (a.kind == ActionKind::WeightGrad) times.weight_grad = took;
    }
  return costs;
}

Timeline predict(const Timeline& measured, const Schedule& schedule) {
  return simulate(schedule, costs_from(measured, schedule), uniform_machine(schedule.rank_count()));
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
}

}  // namespace headrace
