// SPDX-License-Identifier: Apache-2.0
#include "headrace/schedule/internal/token.h"

#include "headrace/base/error.h"
#include "headrace/base/text.h"

#include <fmt/format.h>

namespace headrace::internal {
namespace {

constexpr std::string_view kPair = "OVERLAP_F_B";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view take_digits(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  const std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  return digits;
}

bool lacks_micro_batch(ActionKind kind) {
  return kind == ActionKind::ReduceGrad || kind == ActionKind::Update;
}

[[noreturn]] void fail_token(std::string_view token, const Place& place, std::string_view why) {
  fail_at(place, fmt::format("\"{}\" {}; expected an action such as 2F5 (stage, kind, micro-batch) "
                             "or a pair such as (0F7;7B3)OVERLAP_F_B",
                             quote_for_message(token, 40), why));
}

// False for a token that is dropped (UNSHARD, RESHARD).
bool parse_one(std::string_view token, const Place& place, PyTorchTokens pytorch, Action& action) {
  std::string_view rest = token;
  const std::string_view stage = take_digits(rest);
  if (stage.empty()) fail_token(token, place, "does not begin with a stage number");
  action.stage = StageId(parse_number(stage, "stage", place));
  std::size_t end = 0;
  while (end < rest.size() && ((rest[end] >= 'A' && rest[end] <= 'Z') || rest[end] == '_')) ++end;
  const std::string_view kind = rest.substr(0, end);
  rest.remove_prefix(end);
  const std::string_view micro_batch = take_digits(rest);
  if (pytorch == PyTorchTokens::Yes && (kind == "UNSHARD" || kind == "RESHARD") && rest.empty())
    return false;
  int known = 0;
  while (known < kActionKinds && kind_token(static_cast<ActionKind>(known)) != kind) ++known;
  if (known == kActionKinds)
    fail_token(token, place,
               fmt::format("names no kind of action (\"{}\")", quote_for_message(kind, 20)));
  action.kind = static_cast<ActionKind>(known);
  if (!micro_batch.empty())
    action.micro_batch = MicroBatchId(parse_number(micro_batch, "micro-batch", place));
  else if (!lacks_micro_batch(action.kind))
    fail_token(token, place, "has no micro-batch number");
  if (!micro_batch.empty() && !rest.empty() && rest.front() == '.') {
    rest.remove_prefix(1);
    const int slice = parse_number(take_digits(rest), "slice", place);
    if (slice > INT16_MAX) fail_token(token, place, "names a slice past 32767");
    action.slice = static_cast<std::int16_t>(slice);
  }
  if (!rest.empty())
    fail_token(token, place, fmt::format("has \"{}\" after its end", quote_for_message(rest, 20)));
  return true;
}

}  // namespace

void fail_at(const Place& place, const std::string& words) {
  throw ParseError(fmt::format("{}:{}:{}: {}", place.source, place.line, place.column, words));
}

int parse_number(std::string_view text, std::string_view what, const Place& place) {
  const auto value = parse_digits(text);
  if (!value || *value > kLargestNumber)
    fail_at(place, fmt::format("{} is \"{}\"; expected a number from 0 to {}", what,
                               quote_for_message(text, 30), kLargestNumber));
  return static_cast<int>(*value);
}

void parse_actions(std::string_view token, const Place& place, PyTorchTokens pytorch,
                   std::vector<Action>& list) {
  Action action;
  if (token.empty() || token.front() != '(') {
    if (parse_one(token, place, pytorch, action)) list.push_back(action);
    return;
  }
  const auto close = token.find(')');
  if (close == std::string_view::npos || token.substr(close + 1) != kPair)
    fail_token(token, place, "is not a pair: \")OVERLAP_F_B\" is missing at its end");
  const auto halves = split(token.substr(1, close - 1), ';');
  if (halves.size() != 2)
    fail_token(token, place, fmt::format("holds {} actions, but a pair holds 2", halves.size()));
  for (std::size_t half = 0; half < 2; ++half) {
    action = {};
    if (!parse_one(halves[half], place, PyTorchTokens::No, action)) continue;
    action.overlaps_next = half == 0;
    list.push_back(action);
  }
}

std::string write_actions(const std::vector<Action>& list, bool with_slice,
                          std::string_view separator) {
  std::string text;
  for (std::size_t at = 0; at < list.size(); ++at) {
    if (at > 0) text += separator;
    if (list[at].overlaps_next && at + 1 < list.size()) {
      text += fmt::format("({};{}){}", to_text(list[at], with_slice),
                          to_text(list[at + 1], with_slice), kPair);
      ++at;
    } else {
      text += to_text(list[at], with_slice);
    }
  }
  return text;
}

std::vector<std::string_view> lines_of(std::string_view text, std::string_view source) {
  if (text.starts_with("\xEF\xBB\xBF"))
    fail_at({source, 1, 1}, "begins with a byte order mark; save it as plain UTF-8 without one");
  auto lines = split(text, '\n');
  for (std::size_t line = 0; line < lines.size(); ++line)
    if (const auto at = lines[line].find('\r'); at != std::string_view::npos)
      fail_at({source, line + 1, at + 1},
              "holds a carriage return; save it with Unix line ends (LF alone)");
  return lines;
}

}  // namespace headrace::internal
