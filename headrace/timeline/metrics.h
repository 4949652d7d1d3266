// SPDX-License-Identifier: Apache-2.0
//
// The figures of a timeline (schedules of one step; see docs/cost-model.md for the definitions).
#pragma once

#include "headrace/timeline/timeline.h"

#include <cstddef>
#include <vector>

namespace headrace {

struct Metrics {
  Time makespan{};         // end of the last action anywhere, minus the start of the first
  Time span{};             // max over ranks of (end of its last action - start of its first)
  double bubble = 0;       // 1 - work of all ranks / (ranks * makespan)
  double bubble_span = 0;  // 1 - work of the rank with the longest span / span
  std::vector<Time> busy;  // per rank: time in actions (a pair counts once)
  std::vector<double> rank_bubble;  // per rank: 1 - busy / makespan
  std::vector<int> peak_live;       // per rank, activations
  std::vector<Bytes> peak_memory;   // per rank; 0 where memory was not followed
  std::size_t messages = 0;

  bool operator==(const Metrics&) const = default;
};

[[nodiscard]] Metrics measure(const Timeline& timeline);

// One action that both timelines have, and how much the second is later and longer.
struct ActionDifference {
  RankId rank;
  Action action;
  Time start_difference{};
  Time duration_difference{};
};

// Two timelines of one schedule side by side: predicted against measured.
struct Comparison {
  Metrics first;
  Metrics second;
  std::vector<ActionDifference> actions;  // in the first's order
  std::vector<TimedAction> only_in_first;
  std::vector<TimedAction> only_in_second;
};

[[nodiscard]] Comparison compare(const Timeline& first, const Timeline& second);

}  // namespace headrace
