// SPDX-License-Identifier: Apache-2.0
//
// Lowering: a schedule of compute actions becomes one with explicit sends and receives.
#pragma once

#include "headrace/schedule/schedule.h"

namespace headrace {

// Adds SEND_F, RECV_F, SEND_B and RECV_B between stages on different ranks. Both ends of a message
// are appended at the same moment of one walk over all ranks, so their orders agree and the result
// cannot deadlock even when every send blocks until its receive is posted: the walk itself is an
// order in which everything completes. Neighbouring stages on one rank get no messages.
// Expects a schedule that verifies, without transfers; otherwise throws UsageError with the first
// violation. Takes O(n) time for n actions.
[[nodiscard]] Schedule lower(const Schedule& schedule);

}  // namespace headrace
