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

// 1F1B with twice the warm-up (DAPPLE's policy B; Alpa's "overlap-friendly"), which hides latencies
// of up to half a forward and backward. At most `in_flight` forwards before the first backward (0:
// no limit but 2(p - r) - 1).
[[nodiscard]] Schedule eager_one_f_one_b(int ranks, int micro_batches, int in_flight = 0);

// Forwards only, for inference: on each rank micro-batch by micro-batch; with several stages per
// rank (looped placement), in groups of p.
[[nodiscard]] Schedule forward_only(int ranks, int micro_batches, int stages_per_rank = 1);

}  // namespace headrace
