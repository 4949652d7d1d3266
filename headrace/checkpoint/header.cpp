// SPDX-License-Identifier: Apache-2.0
#include "headrace/base/error.h"
#include "headrace/base/text.h"
#include "headrace/checkpoint/internal/format.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <set>

namespace headrace::internal {
namespace {

using Json = nlohmann::json;

struct Type {
  std::string_view name;
  int bits;
};
constexpr std::array<Type, 16> kTypes{{{"BOOL", 8},
                                       {"U8", 8},
                                       {"I8", 8},
                                       {"F8_E5M2", 8},
                                       {"F8_E4M3", 8},
                                       {"I16", 16},
                                       {"U16", 16},
                                       {"F16", 16},
                                       {"BF16", 16},
                                       {"I32", 32},
                                       {"U32", 32},
                                       {"F32", 32},
                                       {"F64", 64},
                                       {"I64", 64},
                                       {"U64", 64},
                                       {"C64", 64}}};

[[noreturn]] void fail(const std::string& file, const std::string& words) {
  throw ParseError(fmt::format("{}: {}", file, words));
}

// nlohmann's parser keeps the last of two equal keys; a file with two is not to be trusted.
Json parse_without_duplicates(std::string_view text, const std::string& file) {
  std::vector<std::set<std::string>> keys;
  std::string twice;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
    // Deeper than any valid header: name -> entry -> shape.
    if (depth > 8) fail(file, "the header nests more than 8 deep");
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second)
      twice = value.get<std::string>();
    return true;
  };
  try {
    Json header = Json::parse(text, watch);
    if (!twice.empty())
      fail(file, fmt::format("the header names \"{}\" twice", quote_for_message(twice)));
    return header;
  } catch (const Json::exception& error) {
    fail(file, fmt::format("the header is not JSON: {}", error.what()));
  }
}

std::int64_t whole_number(const Json& value, const std::string& file, std::string_view what) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > INT64_MAX)
    fail(file, fmt::format(
                   "{} is {}; expected a whole number of 0 or more", what,
                   quote_for_message(value.dump(-1, ' ', false, Json::error_handler_t::replace))));
  return value.get<std::int64_t>();
}

HeaderEntry parse_entry(const std::string& name, const Json& value, const std::string& file) {
  const std::string shown = quote_for_message(name);
  if (!value.is_object() || value.size() != 3 || !value.contains("dtype") ||
      !value.contains("shape") || !value.contains("data_offsets"))
    fail(file, fmt::format("\"{}\" does not hold exactly dtype, shape and data_offsets", shown));
  HeaderEntry entry;
  entry.name = name;
  if (!value["dtype"].is_string() || !bits_of(value["dtype"].get<std::string>()))
    fail(file, fmt::format("\"{}\" has the unknown dtype {}", shown,
                           quote_for_message(value["dtype"].dump(-1, ' ', false,
                                                                 Json::error_handler_t::replace))));
  entry.dtype = value["dtype"].get<std::string>();
  if (!value["shape"].is_array()) fail(file, fmt::format("the shape of \"{}\" is no list", shown));
  for (const Json& size : value["shape"])
    entry.shape.push_back(whole_number(size, file, fmt::format("a size of \"{}\"", shown)));
  const Json& offsets = value["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2)
    fail(file, fmt::format("\"{}\" does not have two data_offsets", shown));
  entry.begin = whole_number(offsets[0], file, fmt::format("the offset of \"{}\"", shown));
  entry.end = whole_number(offsets[1], file, fmt::format("the end of \"{}\"", shown));
  const auto bytes = bytes_of(entry.dtype, entry.shape);
  if (!bytes) fail(file, fmt::format("the size of \"{}\" does not fit in 63 bits", shown));
  if (entry.end < entry.begin || entry.end - entry.begin != *bytes)
    fail(file, fmt::format("\"{}\" has offsets {} to {}, but its shape takes {} bytes", shown,
                           entry.begin, entry.end, *bytes));
  return entry;
}

void check_metadata(const Json& value, const std::string& file) {
  if (value.is_null()) return;  // some writers do that
  if (!value.is_object()) fail(file, "__metadata__ is no map");
  for (const auto& [key, text] : value.items())
    if (!text.is_string())
      fail(file, fmt::format("__metadata__ \"{}\" is no string", quote_for_message(key)));
}

}  // namespace

std::optional<int> bits_of(std::string_view dtype) {
  for (const Type& type : kTypes)
    if (type.name == dtype) return type.bits;
  return std::nullopt;
}

std::optional<std::int64_t> bytes_of(std::string_view dtype, std::span<const std::int64_t> shape) {
  std::int64_t bytes = *bits_of(dtype) / 8;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  for (const std::int64_t size : shape)
    if (__builtin_mul_overflow(bytes, size, &bytes)) return std::nullopt;
  return bytes;
}

std::vector<HeaderEntry> parse_header(std::string_view json, std::int64_t data_bytes,
                                      const std::string& file) {
  if (json.empty() || json.front() != '{') fail(file, "the header does not begin with '{'");
  const Json header = parse_without_duplicates(json, file);
  std::vector<HeaderEntry> entries;
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__")
      check_metadata(value, file);
    else
      entries.push_back(parse_entry(name, value, file));
  }
  std::sort(entries.begin(), entries.end(), [](const HeaderEntry& a, const HeaderEntry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  std::int64_t at = 0;
  for (const HeaderEntry& entry : entries) {
    if (entry.begin != at)
      fail(file, fmt::format("\"{}\" begins at byte {}, but the array before it ends at {}",
                             quote_for_message(entry.name), entry.begin, at));
    at = entry.end;
  }
  if (at != data_bytes)
    fail(file,
         fmt::format("the arrays take {} bytes, but the file holds {} bytes of data; it is {}", at,
                     data_bytes, at > data_bytes ? "cut short" : "too long"));
  return entries;
}

}  // namespace headrace::internal
