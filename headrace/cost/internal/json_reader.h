// SPDX-License-Identifier: Apache-2.0
//
// Reading JSON strictly: nothing is ignored, nothing is converted, every message says where.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::internal {

using Json = nlohmann::json;

// Throws ParseError for malformed text and for an object that has a key twice.
[[nodiscard]] Json parse_json(std::string_view text, std::string_view source);

// A value and where it stands: "costs.json: stages[2]".
class JsonPlace {
 public:
  JsonPlace(const Json& value, std::string source) : value_(value), source_(std::move(source)) {}

  // The value is an object with no other keys than `known`.
  void expect_keys(const std::vector<std::string>& known) const;
  [[nodiscard]] bool has(const std::string& key) const { return value_.contains(key); }
  // Throws where the key is missing.
  [[nodiscard]] JsonPlace at(const std::string& key) const;
  // The entries of a list.
  [[nodiscard]] std::vector<JsonPlace> entries() const;

  // A whole number from `least` to `most`; `expected` ends the message where it is not.
  [[nodiscard]] std::int64_t number(std::string_view expected, std::int64_t least = 0,
                                    std::int64_t most = INT64_MAX) const;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool truth() const;

  // "SOURCE: PATH is VALUE; expected EXPECTED"
  [[noreturn]] void fail(std::string_view expected) const;
  // "SOURCE: WORDS"
  [[noreturn]] void fail_with(std::string_view words) const;

 private:
  JsonPlace(const Json& value, std::string source, std::string path)
      : value_(value), source_(std::move(source)), path_(std::move(path)) {}
  [[nodiscard]] std::string path() const { return path_.empty() ? "the whole text" : path_; }

  const Json& value_;
  std::string source_;
  std::string path_;
};

}  // namespace headrace::internal
