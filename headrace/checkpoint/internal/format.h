// SPDX-License-Identifier: Apache-2.0
//
//   [ u64 little-endian: N ][ JSON header, N bytes, padded with blanks ][ data ... end of file ]
//
// The header maps each name to {"dtype", "shape", "data_offsets": [begin, end]} within the data,
// and
// "__metadata__" to a map of strings. Arrays cover the data without holes or overlaps.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::internal {

inline constexpr std::int64_t kLargestHeader = 100'000'000;

// Bits of one element of "F32" and the like; none for an unknown type.
[[nodiscard]] std::optional<int> bits_of(std::string_view dtype);

// Bytes of an array; none when the product does not fit or is not whole bytes.
[[nodiscard]] std::optional<std::int64_t> bytes_of(std::string_view dtype,
                                                   std::span<const std::int64_t> shape);

struct HeaderEntry {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// Parses and checks the header against `data_bytes` bytes of data; entries by begin. Throws
// ParseError "FILE: ...".
[[nodiscard]] std::vector<HeaderEntry> parse_header(std::string_view json, std::int64_t data_bytes,
                                                    const std::string& file);

}  // namespace headrace::internal
