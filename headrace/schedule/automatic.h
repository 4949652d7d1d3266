// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headrace/schedule/cost_model.h"
#include "headrace/schedule/schedule.h"

namespace headrace {

// The automatic scheduler of the zero-bubble paper (Qi et al., ICLR 2024): one stage per rank, the
// backward split, made for the costs and the memory limit. Eight variants are built and the one
// with the least span is kept. Without a limit in `costs`, the limit is `in_flight` activations of
// the largest stage: p for zb-1p, 2p for zb-2p. Throws UsageError where the limit does not hold one
// activation, naming the least that does.
[[nodiscard]] Schedule zero_bubble_auto(const char* method, int ranks, int micro_batches,
                                        int in_flight, const ScheduleCosts& costs);

}  // namespace headrace
