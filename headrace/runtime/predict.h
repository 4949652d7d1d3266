// SPDX-License-Identifier: Apache-2.0
//
// Predicted over measured: the simulator fed with what a run measured.
#pragma once

#include "headrace/cost/stage_costs.h"
#include "headrace/schedule/schedule.h"
#include "headrace/timeline/timeline.h"

namespace headrace {

// The time of each action of the measured step, as costs per micro-batch: a simulation with them
// differs from the measurement only in waiting. A fused backward is charged as input gradient; each
// half of a pair takes half of the pair.
[[nodiscard]] StageCosts costs_from(const Timeline& measured, const Schedule& schedule);

// What the simulator says of `schedule` at those costs, with links that take no time.
[[nodiscard]] Timeline predict(const Timeline& measured, const Schedule& schedule);

// The middle value; of an even number, the mean of the two in the middle. 0 for none.
[[nodiscard]] double median(std::vector<double> values);

}  // namespace headrace
