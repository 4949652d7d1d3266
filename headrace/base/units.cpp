// SPDX-License-Identifier: Apache-2.0
#include "headrace/base/units.h"

#include "headrace/base/error.h"
#include "headrace/base/text.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <optional>
#include <span>

namespace headrace {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t scale;
};

constexpr std::array<Unit, 4> kTimeUnits{
    {{"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}}};
constexpr std::array<Unit, 10> kByteUnits{{{"", 1},
                                           {"B", 1},
                                           {"kB", 1'000},
                                           {"MB", 1'000'000},
                                           {"GB", 1'000'000'000},
                                           {"TB", 1'000'000'000'000},
                                           {"KiB", std::int64_t{1} << 10},
                                           {"MiB", std::int64_t{1} << 20},
                                           {"GiB", std::int64_t{1} << 30},
                                           {"TiB", std::int64_t{1} << 40}}};

// `digits` is "12" or "12.5"; the exact product with `scale`, or nothing where it is not whole or
// does not fit.
std::optional<std::int64_t> scale_exactly(std::string_view digits, std::int64_t scale) {
  const auto dot = digits.find('.');
  std::string_view fraction;
  if (dot != std::string_view::npos) {
    fraction = digits.substr(dot + 1);
    digits = digits.substr(0, dot);
    if (fraction.empty() || fraction.size() > 18) return std::nullopt;
  }
  const auto whole = parse_digits(digits);
  const auto part = fraction.empty() ? std::optional<std::int64_t>(0) : parse_digits(fraction);
  if (!whole || !part) return std::nullopt;
  __extension__ using Wide = __int128;
  Wide divisor = 1;
  for (std::size_t i = 0; i < fraction.size(); ++i) divisor *= 10;
  const Wide numerator = (Wide{*whole} * divisor + *part) * scale;
  const Wide result = numerator / divisor;
  if (result * divisor != numerator) return std::nullopt;
  if (result > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  return static_cast<std::int64_t>(result);
}

std::optional<std::int64_t> parse_quantity(std::string_view text, std::span<const Unit> units) {
  text = trim(text);
  const auto end = text.find_first_not_of("0123456789.");
  const std::string_view unit =
      end == std::string_view::npos ? std::string_view{} : trim(text.substr(end));
  for (const Unit& known : units)
    if (known.name == unit) return scale_exactly(text.substr(0, end), known.scale);
  return std::nullopt;
}

// The limits are those of the rounded number: 9.996 is shown as 10.0.
std::string format_scaled(double value, std::string_view unit) {
  const double size = value < 0 ? -value : value;
  const int decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, decimals, unit);
}

}  // namespace

Time parse_time(std::string_view text) {
  if (const auto value = parse_quantity(text, kTimeUnits)) return Time(*value);
  throw UsageError(fmt::format(
      "time \"{}\" is not a number with a unit; expected whole nanoseconds such as 250ns, 1.5us, "
      "20ms or 3s",
      quote_for_message(text)));
}

Bytes parse_bytes(std::string_view text) {
  if (const auto value = parse_quantity(text, kByteUnits)) return Bytes(*value);
  throw UsageError(fmt::format(
      "size \"{}\" is not a number of bytes; expected whole bytes such as 4096, 64KiB, 1.5GiB or "
      "2GB",
      quote_for_message(text)));
}

std::string format_time(Time time) {
  const auto ns = static_cast<double>(time.count());
  const double size = ns < 0 ? -ns : ns;
  if (size < 1e3) return fmt::format("{} ns", time.count());
  if (size < 999.5e3) return format_scaled(ns / 1e3, "us");
  if (size < 999.5e6) return format_scaled(ns / 1e6, "ms");
  return format_scaled(ns / 1e9, "s");
}

std::string format_bytes(Bytes bytes) {
  auto value = static_cast<double>(bytes.value);
  if (bytes.value < 1024 && bytes.value > -1024) return fmt::format("{} B", bytes.value);
  constexpr std::array<std::string_view, 4> kNames{"KiB", "MiB", "GiB", "TiB"};
  std::size_t name = 0;
  value /= 1024;
  while (name + 1 < kNames.size() && (value >= 1023.5 || value <= -1023.5)) {
    value /= 1024;
    ++name;
  }
  return format_scaled(value, kNames[name]);
}

}  // namespace headrace
