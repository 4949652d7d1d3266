// SPDX-License-Identifier: Apache-2.0
//
// What each rank holds over time, and how many activations.
#pragma once

#include "headrace/cost/stage_costs.h"
#include "headrace/schedule/schedule.h"
#include "headrace/timeline/timeline.h"

#include <cstddef>
#include <vector>

namespace headrace::internal {

// Takes the changes in the order in which the simulator finds them, rank by rank, and puts them in
// order of time at the end. Changes at one instant keep the order in which they came, so what an
// action frees at its end is gone before the next one takes memory.
class MemoryCurve {
 public:
  MemoryCurve(const Schedule& schedule, const StageCosts& costs);

  // `action` of `rank` runs from `start` to `end`.
  void ran(std::size_t rank, const Action& action, Time start, Time end);
  // The activation leaves `rank` for its host, or comes back, over [start, end].
  void evicted(std::size_t rank, const Action& action, Time start, Time end);
  void loaded(std::size_t rank, const Action& action, Time start, Time end);

  // Fills in memory and peak_live of every rank.
  void write(Timeline& timeline, bool with_bytes) const;

 private:
  struct Change {
    Time at{};
    std::int64_t bytes = 0;
    int live = 0;
  };

  void add(std::size_t rank, Time at, std::int64_t bytes, int live);

  const Schedule& schedule_;
  const StageCosts& costs_;
  bool forward_only_ = true;
  std::vector<std::int64_t> base_;  // weights, gradients, optimizer state per rank
  std::vector<std::vector<Change>> changes_;
};

// True when any cost names bytes, so that a curve says something.
[[nodiscard]] bool has_bytes(const StageCosts& costs);

}  // namespace headrace::internal
