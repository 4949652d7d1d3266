// SPDX-License-Identifier: Apache-2.0
//
// Words of the two text forms: actions, pairs, and places in a text.
#pragma once

#include "headrace/schedule/action.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::internal {

// Numbers above this are refused when read: no schedule has that many stages or micro-batches, and
// tables for them would not fit in memory.
inline constexpr std::int64_t kLargestNumber = 1'000'000;

// Where a token stands; line and column count from 1.
struct Place {
  std::string_view source;
  std::size_t line = 1;
  std::size_t column = 1;
};

// Throws ParseError "SOURCE:LINE:COLUMN: WORDS".
[[noreturn]] void fail_at(const Place& place, const std::string& words);

// A number from 0 to kLargestNumber; `what` names it in the message.
[[nodiscard]] int parse_number(std::string_view text, std::string_view what, const Place& place);

enum class PyTorchTokens { No, Yes };  // also UNSHARD and RESHARD, which are dropped

// Appends the action `2F5`, `2F5.1`, or the two of the pair `(0F7;7B3)OVERLAP_F_B`.
void parse_actions(std::string_view token, const Place& place, PyTorchTokens pytorch,
                   std::vector<Action>& list);

// The opposite, for a whole list: pairs in their brackets, separated by `separator`.
[[nodiscard]] std::string write_actions(const std::vector<Action>& list, bool with_slice,
                                        std::string_view separator);

// Cuts `text` into lines at '\n'; a carriage return or a byte order mark throws ParseError.
[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text,
                                                     std::string_view source);

}  // namespace headrace::internal
