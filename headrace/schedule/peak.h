// SPDX-License-Identifier: Apache-2.0
//
// How many activations are alive at once, which depends on the order alone.
#pragma once

#include "headrace/schedule/schedule.h"

#include <vector>

namespace headrace {

// Per rank: the largest number of (stage, micro-batch, slice) activations alive at once. One is
// born when its F starts and dies when its B, or its W, ends; an evicted one counts on its host
// from EVICT to LOAD. Forward-only: each dies with its own F.
[[nodiscard]] std::vector<int> peak_live(const Schedule& schedule);

}  // namespace headrace
