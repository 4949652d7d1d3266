// SPDX-License-Identifier: Apache-2.0
//
// Schedules that no method would make, but that are right: random placement, copies, slices, split
// and whole backwards, pairs, and any order that the dependencies allow.
#pragma once

#include "headrace/schedule/schedule.h"

#include <cstdint>

namespace headrace::testing {

// The same for the same seed; verifies.
[[nodiscard]] Schedule random_schedule(std::uint64_t seed);

}  // namespace headrace::testing
