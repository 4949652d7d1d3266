// SPDX-License-Identifier: Apache-2.0
#include "headrace/cost/internal/json_reader.h"

#include "headrace/base/error.h"
#include "headrace/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace headrace::internal {
namespace {

// nlohmann's words without its own name and place: "[...] parse error at line 1, column 2: WORDS".
std::string words_of(const Json::exception& error) {
  const std::string words = error.what();
  const auto place = words.find("column ");
  const auto begin = words.find(": ", place == std::string::npos ? 0 : place);
  return quote_for_message(begin == std::string::npos ? words : words.substr(begin + 2), 200);
}

// `byte` counts from 1 and is that of the last character read.
std::string place_in(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto last = before.rfind('\n');
  const auto column = before.size() - (last == std::string_view::npos ? 0 : last + 1) + 1;
  return fmt::format("{}:{}", line, column);
}

}  // namespace

Json parse_json(std::string_view text, std::string_view source) {
  // The parser keeps the last of two equal keys without a word.
  std::vector<std::set<std::string>> open;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !open.back().insert(parsed.get<std::string>()).second)
      throw ParseError(fmt::format("{}: key \"{}\" stands twice in one object; leave one of them",
                                   source, quote_for_message(parsed.get<std::string>())));
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::parse_error& error) {
    throw ParseError(fmt::format("{}:{}: {}", source, place_in(text, error.byte), words_of(error)));
  } catch (const Json::exception& error) {
    throw ParseError(fmt::format("{}: {}", source, words_of(error)));
  }
}

void JsonPlace::expect_keys(const std::vector<std::string>& known) const {
  if (!value_.is_object()) fail("an object, { ... }");
  for (const auto& entry : value_.items())
    if (std::find(known.begin(), known.end(), entry.key()) == known.end())
      fail_with(fmt::format("{}{}", path_.empty() ? "" : path_ + ": ",
                            unknown_name("key", entry.key(), known)));
}

JsonPlace JsonPlace::at(const std::string& key) const {
  const std::string path = path_.empty() ? key : path_ + "." + key;
  if (!value_.is_object()) fail("an object, { ... }");
  const auto found = value_.find(key);
  if (found == value_.end()) fail_with(fmt::format("{} is missing", path));
  return {*found, source_, path};
}

std::vector<JsonPlace> JsonPlace::entries() const {
  if (!value_.is_array()) fail("a list, [ ... ]");
  std::vector<JsonPlace> all;
  all.reserve(value_.size());
  for (std::size_t i = 0; i < value_.size(); ++i)
    all.push_back({value_[i], source_, fmt::format("{}[{}]", path_, i)});
  return all;
}

std::int64_t JsonPlace::number(std::string_view expected, std::int64_t least,
                               std::int64_t most) const {
  // Numbers past 63 bits come as unsigned, those past 64 bits as a fraction.
  const bool fits = value_.is_number_integer() &&
                    (!value_.is_number_unsigned() || value_.get<std::uint64_t>() <= INT64_MAX);
  if (!fits) fail(expected);
  const auto number = value_.get<std::int64_t>();
  if (number < least || number > most) fail(expected);
  return number;
}

std::string JsonPlace::text() const {
  if (!value_.is_string()) fail("text");
  return value_.get<std::string>();
}

bool JsonPlace::truth() const {
  if (!value_.is_boolean()) fail("true or false");
  return value_.get<bool>();
}

void JsonPlace::fail(std::string_view expected) const {
  const std::string shown = value_.is_array()    ? "a list"
                            : value_.is_object() ? "an object"
                                                 : quote_for_message(value_.dump());
  fail_with(fmt::format("{} is {}; expected {}", path(), shown, expected));
}

void JsonPlace::fail_with(std::string_view words) const {
  throw ParseError(fmt::format("{}: {}", source_, words));
}

}  // namespace headrace::internal
