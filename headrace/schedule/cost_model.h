// SPDX-License-Identifier: Apache-2.0
//
// The costs that automatic schedules are made for. This folder knows no other cost value; callers
// with StageCosts copy the few numbers over.
#pragma once

#include "headrace/base/units.h"

#include <cstdint>
#include <vector>

namespace headrace {

// Times and memory of one stage's actions. Memory may be in any unit, the limit in the same.
struct ScheduleStageCost {
  Time forward{1};
  Time input_grad{1};
  Time weight_grad{1};
  std::int64_t activation = 1;           // held from F on
  std::int64_t freed_by_input_grad = 0;  // the part that I frees; W frees the rest

  bool operator==(const ScheduleStageCost&) const = default;
};

struct ScheduleCosts {
  std::vector<ScheduleStageCost> stages;  // empty: every stage costs 1, 1, 1
  Time latency{0};                        // of a message between two ranks
  std::int64_t limit = 0;                 // of activations, per rank; 0: the method's own

  bool operator==(const ScheduleCosts&) const = default;
};

}  // namespace headrace
