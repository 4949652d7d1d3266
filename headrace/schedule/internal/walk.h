// SPDX-License-Identifier: Apache-2.0
//
// In-order execution without time: does every rank reach the end of its list?
#pragma once

#include "headrace/schedule/internal/action_index.h"
#include "headrace/schedule/schedule.h"

#include <string>
#include <vector>

namespace headrace::internal {

enum class SendRule {
  Buffered,  // a send never waits
  Blocking,  // a send waits until its receiver stands at the receive, and the other way round
};

// Where each rank stands when nothing moves any more; finished ranks stand at the end of their
// list.
struct WalkEnd {
  bool finished = false;
  std::vector<std::size_t> standing;
};

// Walks all lists. A result that nobody makes, and a message whose other end is missing, count as
// there: verify() reports those by themselves. Takes O(n) time for n actions.
[[nodiscard]] WalkEnd walk(const Schedule& schedule, const ActionIndex& index, SendRule sends);

// The cycle of waiting actions at which a walk ended, in words.
[[nodiscard]] std::string describe_cycle(const Schedule& schedule, const ActionIndex& index,
                                         const WalkEnd& end, SendRule sends);

}  // namespace headrace::internal
