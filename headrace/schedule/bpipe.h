// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headrace/schedule/schedule.h"

namespace headrace {

// BPipe (Kim et al., ICML'23): 1F1B in which the first ranks, which hold most, put activations on
// the last ranks, which hold least. Rank d and rank p - 1 - d are partners; with this rule no rank
// holds more than ceil((p + 2) / 2), what it hosts included. Any p, m >= 1.
[[nodiscard]] Schedule bpipe(int ranks, int micro_batches);

}  // namespace headrace
