// SPDX-License-Identifier: Apache-2.0
//
// One stage per rank: the schedules every text on pipelines begins with.
#pragma once

#include "headrace/schedule/schedule.h"

namespace headrace {

// Any p >= 1 ranks and m >= 1 micro-batches; smaller values throw UsageError.
[[nodiscard]] Schedule naive(int ranks, int micro_batches);

// Fill and drain. The backward runs in micro-batch order, or last first if `reverse`.
[[nodiscard]] Schedule gpipe(int ranks, int micro_batches, bool reverse = false);

// One forward, one backward; at most `in_flight` forwards before the first backward (0: p - r).
[[nodiscard]] Schedule one_f_one_b(int ranks, int micro_batches, int in_flight = 0);

}  // namespace headrace
