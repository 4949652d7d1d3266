// SPDX-License-Identifier: Apache-2.0
//
// The one table of methods: a new generator is a row here.
#pragma once

#include "headrace/schedule/generate.h"

#include <functional>
#include <vector>

namespace headrace::internal {

// The options beside ranks and micro-batches, as bits: which a method takes.
enum Option : unsigned {
  kNone = 0,
  kStagesPerRank = 1u << 0,
  kGroup = 1u << 1,
  kWaves = 1u << 2,
  kPairs = 1u << 3,
  kSlices = 1u << 4,
  kInFlight = 1u << 5,
  kReverse = 1u << 6,
  kVerticalSync = 1u << 7,
  kCosts = 1u << 8,
};

struct Entry {
  Method method;
  unsigned options;
  std::function<Schedule(const ScheduleRequest&)> make;
};

[[nodiscard]] const std::vector<Entry>& entries();

}  // namespace headrace::internal
