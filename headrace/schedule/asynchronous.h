// SPDX-License-Identifier: Apache-2.0
//
// PipeDream (Narayanan et al., SOSP'19) and PipeDream-2BW (ICML'21): weights change within the
// stream of micro-batches, so nothing drains, and stages keep several versions of their weights.
#pragma once

#include "headrace/schedule/schedule.h"

namespace headrace {

// 1F1B with an update after every backward. With weight stashing, stage s keeps p - s versions: a
// backward uses what its forward used. With vertical sync, every stage uses the version that stage
// 0 had on entry, and keeps p.
[[nodiscard]] Schedule pipedream(int ranks, int micro_batches, bool vertical_sync = false);

// 1F1B with an update after every `per_update` backwards (0: as many as ranks); two versions, the
// gradient is taken at the one before the newest. per_update >= p - 1, and divides m.
[[nodiscard]] Schedule pipedream_2bw(int ranks, int micro_batches, int per_update = 0);

}  // namespace headrace
