// SPDX-License-Identifier: Apache-2.0
//
// Stages that go forth and back over the ranks, without copies of weights.
#pragma once

#include "headrace/schedule/schedule.h"

namespace headrace {

// Hanayo (Liu et al., SC'23): `waves` times forth and back, 2 * waves stages per rank. Any m >= 1;
// a step whose m is not a multiple of p costs an almost empty unit.
[[nodiscard]] Schedule hanayo(int ranks, int micro_batches, int waves = 1);

}  // namespace headrace
