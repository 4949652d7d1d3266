// SPDX-License-Identifier: Apache-2.0
//
// Our own text form of a schedule: lossless, one line per rank, comments from '#'.
//
//   headrace-schedule 1
//   name 1f1b
//   micro-batches 4
//   place 0 1                      # stage s lives on rank place[s]; one line per copy
//   rank 0: 0F0 0F1 0B0 0F2 0B1 0F3 0B2 0B3
//   rank 1: 1F0 1B0 1F1 1B1 1F2 1B2 1F3 1B3
//
// Optional lines: `slices N`, `flow 0 0 1 1` (the copy of each micro-batch), `hosts 1 0`,
// `weights stash|vertical-sync|double-buffer [per N]`, `versions 2 1`. docs/schedule-text.md has
// the whole grammar.
#pragma once

#include "headrace/schedule/schedule.h"

#include <string>
#include <string_view>

namespace headrace {

[[nodiscard]] std::string to_text(const Schedule& schedule);

// Reads either text form: ours, or PyTorch's CSV (see csv.h) where the first line is not ours.
// `source` is named in messages, "FILE:LINE:COLUMN: ...". Throws ParseError for malformed text;
// does not verify (the caller shows violations, of which there may be many).
[[nodiscard]] Schedule parse_schedule(std::string_view text, std::string_view source);

}  // namespace headrace
