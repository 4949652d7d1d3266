// SPDX-License-Identifier: Apache-2.0
//
// Zero-bubble schedules with the backward split (Qi et al., "Zero bubble pipeline parallelism",
// ICLR 2024): weight gradients fill what would be bubble.
#pragma once

#include "headrace/schedule/schedule.h"

namespace headrace {

// ZB-H1: the memory of 1F1B's first rank on every rank, about a third of its bubble.
[[nodiscard]] Schedule zero_bubble_h1(int ranks, int micro_batches);

// ZB-H2: up to twice that memory; no bubble within a rank's own span, once steps follow each other.
[[nodiscard]] Schedule zero_bubble_h2(int ranks, int micro_batches);

// ZB-V: two stages per rank in a V, so that the memory of ZB-H1 is enough for ZB-H2's bubble.
[[nodiscard]] Schedule zero_bubble_v(int ranks, int micro_batches);

}  // namespace headrace
