// SPDX-License-Identifier: Apache-2.0
//
// Replays a schedule under costs on a machine.
#pragma once

#include "headrace/cost/machine.h"
#include "headrace/cost/stage_costs.h"
#include "headrace/schedule/schedule.h"
#include "headrace/timeline/timeline.h"

namespace headrace {

// How much of the timeline to fill in.
enum class Detail {
  Full,     // everything
  Actions,  // no messages and no memory curve: what a search over many schedules needs
};

// When each action starts and ends.
//
// A rank runs its actions in list order. An action starts once its rank is free and everything it
// needs has arrived; a transfer occupies its link, not its rank (unless machine.sends_block).
// Sends and receives of a lowered schedule take no time of the rank; a schedule without transfers
// sends each result the moment it is made. Times count whole nanoseconds from the start of the
// step, so equal inputs give equal timelines, byte for byte.
//
// Memory starts at weights, gradients and optimizer state of the rank's stages, and follows the
// live activations and the working set of the running action.
//
// Expects a schedule that verifies; one that cannot finish throws UsageError naming the waiting
// actions, and so do costs or a machine of another size. Takes O(n) time for n actions, and
// O(n log n) to put messages and memory in order of time.
[[nodiscard]] Timeline simulate(const Schedule& schedule, const StageCosts& costs,
                                const Machine& machine, Detail detail = Detail::Full);

}  // namespace headrace
