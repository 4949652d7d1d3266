// SPDX-License-Identifier: Apache-2.0
//
// When each action started and ended, and memory over time. The simulator and the runtime return
// the same type, so one report draws either, or one over the other.
#pragma once

#include "headrace/base/ids.h"
#include "headrace/base/units.h"
#include "headrace/schedule/action.h"

#include <string>
#include <vector>

namespace headrace {

// Times count from the start of the step. An overlapped pair is two entries with equal times.
struct TimedAction {
  Action action;
  Time start{};
  Time end{};

  bool operator==(const TimedAction&) const = default;
};

// One message between two ranks; `send` is the SEND_F or SEND_B that it belongs to.
struct TimedMessage {
  Action send;
  RankId from;
  RankId to;
  Time sent{};
  Time arrived{};
  Bytes size{};

  bool operator==(const TimedMessage&) const = default;
};

// From `at` on, until the next point, the rank holds `held`.
struct MemoryPoint {
  Time at{};
  Bytes held{};

  bool operator==(const MemoryPoint&) const = default;
};

struct RankTimeline {
  std::vector<TimedAction> actions;  // in list order, so by start
  std::vector<MemoryPoint> memory;   // by time; empty where memory was not followed
  int peak_live = 0;                 // most activations alive at once

  bool operator==(const RankTimeline&) const = default;
};

struct Timeline {
  std::string name;  // of the schedule
  std::vector<RankTimeline> ranks;
  std::vector<TimedMessage> messages;  // by time sent, then by rank

  bool operator==(const Timeline&) const = default;
};

}  // namespace headrace
