// SPDX-License-Identifier: Apache-2.0
//
// Time in whole nanoseconds and sizes in whole bytes, with their text forms. There are no
// fractions anywhere: equal inputs give equal results, byte for byte.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace headrace {

using Time = std::chrono::nanoseconds;

// A number of bytes.
struct Bytes {
  std::int64_t value = 0;

  constexpr Bytes() = default;
  constexpr explicit Bytes(std::int64_t bytes) : value(bytes) {}

  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes other) {
    value += other.value;
    return *this;
  }
  constexpr Bytes& operator-=(Bytes other) {
    value -= other.value;
    return *this;
  }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes(a.value + b.value); }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes(a.value - b.value); }
  friend constexpr Bytes operator*(Bytes a, std::int64_t count) { return Bytes(a.value * count); }
};

// "12us", "1.5ms", "3s", "250ns": a number and a unit (ns, us, ms, s). Exact: a value that is not
// a whole number of nanoseconds, is negative, or does not fit throws UsageError that quotes `text`.
[[nodiscard]] Time parse_time(std::string_view text);

// "16GiB", "1.5 MiB", "4096", "4096B", "2GB": a number and an optional unit, binary (KiB, MiB, GiB,
// TiB) or decimal (kB, MB, GB, TB). Throws UsageError on anything else, on a fraction of a byte and
// on values that do not fit.
[[nodiscard]] Bytes parse_bytes(std::string_view text);

// Three significant digits with a unit: "0 ns", "12.3 us", "1.50 s"; "512 B", "1.50 GiB".
[[nodiscard]] std::string format_time(Time time);
[[nodiscard]] std::string format_bytes(Bytes bytes);

}  // namespace headrace
