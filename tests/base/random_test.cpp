// SPDX-License-Identifier: Apache-2.0
#include "headrace/base/random.h"

#include "headrace/base/error.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>

namespace headrace {
namespace {

using Words = std::array<std::uint32_t, 4>;

// The three vectors for Philox 4x32-10 in the file kat_vectors of Random123.
TEST(RandomWords, EqualTheKnownAnswers) {
  EXPECT_EQ(random_words(0, {0, 0, 0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(random_words(0xffffffffffffffff, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(random_words(0x299f31d0a4093822, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomWords, DependOnEveryPartOfSeedAndPosition) {
  const std::set<Words> words{random_words(1, {2, 3, 4, 5}),
                              random_words(1, {3, 3, 4, 5}),
                              random_words(1, {2, 4, 4, 5}),
                              random_words(1, {2, 3, 5, 5}),
                              random_words(1, {2, 3, 4, 6}),
                              random_words(2, {2, 3, 4, 5}),
                              random_words((std::uint64_t{1} << 32) + 1, {2, 3, 4, 5})};
  EXPECT_EQ(words.size(), 7u);
}

TEST(RandomBelow, StaysBelowTheBoundAndReachesAll) {
  std::array<int, 7> seen{};
  for (std::uint32_t i = 0; i < 7000; ++i) {
    const auto value = random_below(42, {i, 0, 0, 0}, 7);
    ASSERT_LT(value, 7u);
    ++seen[value];
  }
  // Mean 1000, standard deviation 29; fixed inputs, so this holds always or never.
  for (const int count : seen) {
    EXPECT_GT(count, 850);
    EXPECT_LT(count, 1150);
  }
}

TEST(RandomBelow, HasOneAnswerForABoundOfOneAndNoneForZero) {
  EXPECT_EQ(random_below(1, {}, 1), 0u);
  EXPECT_THROW((void)random_below(1, {}, 0), InternalError);
}

TEST(DeriveSeed, GivesEachPurposeAndSeedItsOwn) {
  std::set<std::uint64_t> seeds;
  for (const std::uint64_t seed : {0, 1, 2})
    for (const char* purpose : {"", "data", "dropout", "h.0.attn.c_attn.weight"})
      seeds.insert(derive_seed(seed, purpose));
  EXPECT_EQ(seeds.size(), 12u);
  EXPECT_EQ(derive_seed(7, "data"), derive_seed(7, std::string("da") + "ta"));
}

// What is trained depends on this value: a change of it is a change of the format.
TEST(DeriveSeed, IsStable) {
  // FNV-1a of "" is the offset basis cbf29ce484222325; the seed is word 1 and 0 of Philox there.
  const auto words = random_words(3, {0x84222325, 0xcbf29ce4, 0, 0});
  EXPECT_EQ(derive_seed(3, ""), (std::uint64_t{words[1]} << 32) | words[0]);
  // FNV-1a of "a" is af63dc4c8601ec8c.
  const auto other = random_words(3, {0x8601ec8c, 0xaf63dc4c, 0, 0});
  EXPECT_EQ(derive_seed(3, "a"), (std::uint64_t{other[1]} << 32) | other[0]);
}

}  // namespace
}  // namespace headrace
