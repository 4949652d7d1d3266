// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headrace/schedule/schedule.h"

namespace headrace {

// "Pipeline parallelism with controllable memory" (Qi et al., NeurIPS 2024): two stages per rank in
// a V and the backward split, built by repeating a block. V-Min holds about a third of 1F1B's
// activations, V-Half about half. p >= 2, any m >= 1.
[[nodiscard]] Schedule v_min(int ranks, int micro_batches);
[[nodiscard]] Schedule v_half(int ranks, int micro_batches);

// The same without the passes that move actions forward into free slots: valid, and a little
// longer.
[[nodiscard]] Schedule v_min_raw(int ranks, int micro_batches);
[[nodiscard]] Schedule v_half_raw(int ranks, int micro_batches);

}  // namespace headrace
