// SPDX-License-Identifier: Apache-2.0
//
// Counter-based randomness: a number is a pure function of a seed and a position, so results do not
// depend on order, thread, rank or schedule. The generator is Philox 4x32 with ten rounds
// (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11), from Random123.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace headrace {

// Where in the stream of random numbers one stands. What the parts mean is up to the caller:
// for dropout (step, micro-batch, layer), for data (step, row), for weights (parameter, block).
struct RandomCounter {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t c = 0;
  std::uint32_t d = 0;
};

// Four independent words, each uniform over all 32-bit values.
[[nodiscard]] std::array<std::uint32_t, 4> random_words(std::uint64_t seed, RandomCounter counter);

// Uniform in [0, bound), without bias to speak of: bound / 2^64 at most. `bound` must be positive.
[[nodiscard]] std::uint64_t random_below(std::uint64_t seed, RandomCounter counter,
                                         std::uint64_t bound);

// A seed of its own for each purpose ("data", "dropout", a parameter's name): streams never overlap
// in practice (a 64-bit FNV-1a hash of `purpose`, mixed with `seed` through Philox).
[[nodiscard]] std::uint64_t derive_seed(std::uint64_t seed, std::string_view purpose);

}  // namespace headrace
