// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with a schedule. Runs after every step that makes one and on every file read.
#pragma once

#include "headrace/schedule/schedule.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

enum class Rule : std::uint8_t {
  Shape,          // placement, flow, hosts or versions do not fit the schedule's sizes
  UnknownAction,  // stage, micro-batch or slice out of range
  WrongRank,      // an action on a rank where its stage does not live
  Missing,        // no F, or neither B nor I and W, for a (stage, micro-batch, slice)
  Duplicate,      // an action twice, or B beside I or W
  Order,          // on one rank: B or I before F, W before I, a slice before its predecessor
  Deadlock,       // in-order execution cannot reach the end: a cycle of waiting actions
  Message,        // a lowered list: send or receive missing, doubled, or before its producer
  BlockingSends,  // a lowered list: deadlock when a send blocks until its receive is posted
  Pair,           // an overlapped pair that is not a forward and a backward of one rank
  WeightVersion,  // a version is read that does not exist or is no longer held
  Eviction,       // evict without activation, load without evict, backward while away
};

// The kebab-case name of a rule, such as "wrong-rank".
[[nodiscard]] std::string_view rule_name(Rule rule);

// One broken rule. `rank` and `position` (index in the rank's list) are -1 where none is meant.
struct Violation {
  Rule rule = Rule::Shape;
  int rank = -1;
  int position = -1;
  std::string message;  // where, what is wrong with both values, what to do

  bool operator==(const Violation&) const = default;
};

// All violations, in a fixed order: shape first, then by rank and position, then whole-schedule
// ones (a deadlock is reported once, as the cycle of waiting actions). Empty means: it runs to the
// end on any runtime, even where every send blocks until its receive is posted (judged on the
// lowered list; for a list without transfers, lower() gives one that is proven).
// Forward-only schedules (no B, I or W at all) are valid.
// Takes O(n) time for n actions.
[[nodiscard]] std::vector<Violation> verify(const Schedule& schedule);

// For what our own generators make: throws InternalError with the first violation, if there is one.
void require_verified(const Schedule& schedule, std::string_view made_by);

}  // namespace headrace
