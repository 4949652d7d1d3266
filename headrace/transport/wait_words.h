// SPDX-License-Identifier: Apache-2.0
//
// What every transport says when a message does not come: one wording for one situation.
#pragma once

#include "headrace/base/ids.h"
#include "headrace/transport/message.h"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace headrace {

// A rank that waits for a message of another.
struct Wait {
  RankId rank;
  RankId from;
  MessageName name;
};

// A wait that passed its deadline.
struct LateMessage {
  Wait wait;
  std::chrono::nanoseconds waited{};
  std::optional<MessageName> last_heard;   // of wait.from
  std::chrono::nanoseconds since_heard{};  // counted only with last_heard
  // Why the other rank may be silent: it waits itself, and so may the one that it waits for.
  // chain[0].rank is wait.from. Empty where nothing is known of the others.
  std::vector<Wait> chain;
};

// "rank 3: no word from rank 2 for 5 s, while waiting for 2SEND_F5 (step 0). Last heard: 2SEND_F4
// (step 0). Check that rank 2 is running, or raise --timeout."
[[nodiscard]] std::string to_text(const LateMessage& late);

}  // namespace headrace
