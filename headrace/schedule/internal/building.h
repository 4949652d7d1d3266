// SPDX-License-Identifier: Apache-2.0
//
// The bricks of the generators.
#pragma once

#include "headrace/schedule/schedule.h"

#include <string>
#include <string_view>
#include <vector>

namespace headrace::internal {

// Throws UsageError "METHOD: WHAT is VALUE; expected LEAST or more".
void require_at_least(std::string_view method, std::string_view what, int value, int least);

// An empty schedule of `ranks` lists with one copy of each stage at `placement`.
[[nodiscard]] Schedule empty_schedule(std::string_view method, int ranks, int micro_batches,
                                      Placement placement);

// The same with stage s on rank s, after checking that both sizes are 1 or more.
[[nodiscard]] Schedule straight_schedule(std::string_view method, int ranks, int micro_batches);

inline void add(Schedule& schedule, int rank, ActionKind kind, int stage, int micro_batch,
                int slice = 0) {
  schedule.ranks[static_cast<std::size_t>(rank)].push_back(
      {kind, false, static_cast<std::int16_t>(slice), StageId(stage), MicroBatchId(micro_batch)});
}

// Straight placement: rank r runs warm_up[r] forwards (at most m), then one forward and one
// backward in turn, then the remaining backwards; all in micro-batch order. Verifies the result.
[[nodiscard]] Schedule warm_up_then_alternate(std::string_view method, int ranks, int micro_batches,
                                              const std::vector<int>& warm_up);

}  // namespace headrace::internal
