// SPDX-License-Identifier: Apache-2.0
#include "headrace/base/error.h"
#include "headrace/base/text.h"
#include "headrace/timeline/json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <vector>

namespace headrace {
namespace {

using Json = nlohmann::json;

std::optional<std::int64_t> take_number(std::string_view& text) {
  const auto end = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_digits(text.substr(0, end));
  text.remove_prefix(end);
  return number && *number <= INT32_MAX ? number : std::nullopt;
}

std::optional<ActionKind> kind_of(std::string_view token) {
  for (int kind = 0; kind < kActionKinds; ++kind)
    if (kind_token(static_cast<ActionKind>(kind)) == token) return static_cast<ActionKind>(kind);
  return std::nullopt;
}

// "2F5", "2F5.1", "3UPDATE"; a "+" at the end begins a pair.
std::optional<Action> parse_action(std::string_view text) {
  Action action;
  if (text.ends_with('+')) {
    action.overlaps_next = true;
    text.remove_suffix(1);
  }
  const auto stage = take_number(text);
  const auto letters = std::min(text.find_first_of("0123456789"), text.size());
  const auto kind = kind_of(text.substr(0, letters));
  if (!stage || !kind) return std::nullopt;
  action.stage = StageId(*stage);
  action.kind = *kind;
  text.remove_prefix(letters);
  if (text.empty() && (*kind == ActionKind::ReduceGrad || *kind == ActionKind::Update))
    return action;
  const auto micro_batch = take_number(text);
  if (!micro_batch) return std::nullopt;
  action.micro_batch = MicroBatchId(*micro_batch);
  if (text.empty()) return action;
  if (text.front() != '.') return std::nullopt;
  text.remove_prefix(1);
  const auto slice = take_number(text);
  if (!slice || *slice > INT16_MAX || !text.empty()) return std::nullopt;
  action.slice = static_cast<std::int16_t>(*slice);
  return action;
}

class Reader {
 public:
  explicit Reader(std::string_view source) : source_(source) {}

  Timeline timeline(const Json& whole) const {
    expect_keys(whole, "the whole text", {"headrace_timeline", "name", "ranks", "messages"});
    if (number(whole["headrace_timeline"], "headrace_timeline") != 1)
      fail(whole["headrace_timeline"], "headrace_timeline", "1, the only version there is");
    Timeline timeline;
    if (!whole["name"].is_string()) fail(whole["name"], "name", "text");
    timeline.name = whole["name"].get<std::string>();
    const Json& ranks = list(whole["ranks"], "ranks");
    for (std::size_t r = 0; r < ranks.size(); ++r)
      timeline.ranks.push_back(rank(ranks[r], fmt::format("ranks[{}]", r)));
    const Json& messages = list(whole["messages"], "messages");
    for (std::size_t i = 0; i < messages.size(); ++i)
      timeline.messages.push_back(
          message(messages[i], fmt::format("messages[{}]", i), ranks.size()));
    return timeline;
  }

 private:
  RankTimeline rank(const Json& json, const std::string& path) const {
    expect_keys(json, path, {"actions", "memory", "peak_live"});
    RankTimeline rank;
    const Json& actions = list(json["actions"], path + ".actions");
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const std::string at = fmt::format("{}.actions[{}]", path, i);
      const Json& row = fields(actions[i], at, 3, R"(["2F5", start, end])");
      rank.actions.push_back({action(row[0], at), time(row[1], at), time(row[2], at)});
    }
    const Json& memory = list(json["memory"], path + ".memory");
    for (std::size_t i = 0; i < memory.size(); ++i) {
      const std::string at = fmt::format("{}.memory[{}]", path, i);
      const Json& row = fields(memory[i], at, 2, "[time, bytes]");
      rank.memory.push_back({time(row[0], at), Bytes(number(row[1], at))});
    }
    rank.peak_live = static_cast<int>(number(json["peak_live"], path + ".peak_live", INT32_MAX));
    return rank;
  }

  TimedMessage message(const Json& json, const std::string& at, std::size_t ranks) const {
    const Json& row = fields(json, at, 6, R"(["2SEND_F5", from, to, sent, arrived, bytes])");
    const auto last = static_cast<std::int64_t>(ranks) - 1;
    return {action(row[0], at),
            RankId(number(row[1], at, last)),
            RankId(number(row[2], at, last)),
            time(row[3], at),
            time(row[4], at),
            Bytes(number(row[5], at))};
  }

  void expect_keys(const Json& json, std::string_view path,
                   std::initializer_list<const char*> known) const {
    if (!json.is_object()) fail(json, path, "an object, { ... }");
    for (const char* key : known)
      if (!json.contains(key)) fail_with(fmt::format("{}: \"{}\" is missing", path, key));
    const std::vector<std::string> names(known.begin(), known.end());
    for (const auto& entry : json.items())
      if (std::find(names.begin(), names.end(), entry.key()) == names.end())
        fail_with(fmt::format("{}: {}", path, unknown_name("key", entry.key(), names)));
  }

  const Json& list(const Json& json, std::string_view path) const {
    if (!json.is_array()) fail(json, path, "a list, [ ... ]");
    return json;
  }
  const Json& fields(const Json& json, std::string_view path, std::size_t count,
                     std::string_view expected) const {
    if (!json.is_array() || json.size() != count) fail(json, path, expected);
    return json;
  }

  Action action(const Json& json, std::string_view path) const {
    const auto parsed =
        json.is_string() ? parse_action(json.get_ref<const std::string&>()) : std::nullopt;
    if (!parsed) fail(json, path, "an action such as \"2F5\"");
    return *parsed;
  }
  // A measured time may lie before the start of the step.
  Time time(const Json& json, std::string_view path) const {
    return Time(number(json, path, INT64_MAX, INT64_MIN));
  }
  std::int64_t number(const Json& json, std::string_view path, std::int64_t most = INT64_MAX,
                      std::int64_t least = 0) const {
    // Numbers past 63 bits come as unsigned, those past 64 bits as a fraction.
    const bool fits = json.is_number_integer() &&
                      (!json.is_number_unsigned() || json.get<std::uint64_t>() <= INT64_MAX);
    const std::int64_t value = fits ? json.get<std::int64_t>() : 0;
    if (!fits || value < least || value > most)
      fail(json, path, fmt::format("a whole number from {} to {}", least, most));
    return value;
  }

  [[noreturn]] void fail(const Json& json, std::string_view path, std::string_view expected) const {
    fail_with(fmt::format("{} is {}; expected {}", path, quote_for_message(json.dump()), expected));
  }
  [[noreturn]] void fail_with(std::string_view words) const {
    throw ParseError(fmt::format("{}: {}", source_, words));
  }

  std::string_view source_;
};

}  // namespace

Timeline parse_timeline(std::string_view json, std::string_view source) {
  Json parsed;
  try {
    parsed = Json::parse(json);
  } catch (const Json::exception& error) {
    throw ParseError(fmt::format("{}: {}", source, quote_for_message(error.what(), 200)));
  }
  return Reader(source).timeline(parsed);
}

}  // namespace headrace
