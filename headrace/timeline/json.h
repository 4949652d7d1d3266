// SPDX-License-Identifier: Apache-2.0
//
// The JSON form of a timeline: lossless, whole nanoseconds.
#pragma once

#include "headrace/timeline/timeline.h"

#include <string>
#include <string_view>

namespace headrace {

// {"headrace_timeline": 1, "name": ..., "ranks": [{"actions": [["0F0", start, end], ...],
//  "memory": [[at, bytes], ...], "peak_live": n}, ...],
//  "messages": [["0SEND_F0", from, to, sent, arrived, bytes], ...]}
// A slice follows the action as "0F0.1"; the first half of a pair ends in "+".
[[nodiscard]] std::string to_json(const Timeline& timeline);

// `source` is named in messages. Throws ParseError for malformed text, an unknown or missing key,
// and any value that is not as above ("FILE: ranks[1].actions[7] is ...; expected ...").
[[nodiscard]] Timeline parse_timeline(std::string_view json, std::string_view source);

}  // namespace headrace
