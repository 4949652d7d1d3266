// SPDX-License-Identifier: Apache-2.0
//
// Small pieces of text work that several folders share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

// The whole of `text` as a decimal number: digits only, no sign, no blanks, no overflow.
[[nodiscard]] std::optional<std::int64_t> parse_digits(std::string_view text);

// `text` cut at every `separator`; "" gives one empty piece.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

// Without blanks and tabs at both ends.
[[nodiscard]] std::string_view trim(std::string_view text);

// The candidate that a mistyped `name` most likely meant: the one with the smallest edit distance,
// the earlier on a tie; none if even the best differs in more than half of the letters.
[[nodiscard]] std::optional<std::string> nearest_name(std::string_view name,
                                                      std::span<const std::string> candidates);

// The sentence for an unknown name: `unknown schedule "1f1c"; did you mean "1f1b"?`, or with all
// candidates where none is near.
[[nodiscard]] std::string unknown_name(std::string_view what, std::string_view name,
                                       std::span<const std::string> candidates);

// Text from outside, made safe to show: control characters escaped as \xNN, cut to `limit` bytes
// with "..." at the end.
[[nodiscard]] std::string quote_for_message(std::string_view text, std::size_t limit = 60);

}  // namespace headrace
