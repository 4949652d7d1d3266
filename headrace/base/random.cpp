// SPDX-License-Identifier: Apache-2.0
#include "headrace/base/random.h"

#include "headrace/base/error.h"

#include <Random123/philox.h>

namespace headrace {

std::array<std::uint32_t, 4> random_words(std::uint64_t seed, RandomCounter counter) {
  const r123::Philox4x32::ctr_type at = {{counter.a, counter.b, counter.c, counter.d}};
  const r123::Philox4x32::key_type key = {
      {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
  const auto words = r123::Philox4x32{}(at, key);
  return {words[0], words[1], words[2], words[3]};
}

std::uint64_t random_below(std::uint64_t seed, RandomCounter counter, std::uint64_t bound) {
  HEADRACE_CHECK(bound > 0, "random_below needs a positive bound");
  const auto words = random_words(seed, counter);
  const std::uint64_t wide = (std::uint64_t{words[1]} << 32) | words[0];
  return wide % bound;
}

std::uint64_t derive_seed(std::uint64_t seed, std::string_view purpose) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : purpose) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  const auto words = random_words(
      seed, {static_cast<std::uint32_t>(hash), static_cast<std::uint32_t>(hash >> 32), 0, 0});
  return (std::uint64_t{words[1]} << 32) | words[0];
}

}  // namespace headrace
