// SPDX-License-Identifier: Apache-2.0
#include "headrace/partition/partition.h"

#include "headrace/base/error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace headrace {
namespace {

std::int64_t heaviest(const std::vector<std::int64_t>& weights, const Partition& partition) {
  std::int64_t most = 0;
  for (const LayerRange& range : partition.stages) {
    std::int64_t sum = 0;
    for (int i = range.first; i < range.last; ++i) sum += weights[static_cast<std::size_t>(i)];
    most = std::max(most, sum);
  }
  return most;
}

// All ways to cut, in the order of the cuts; the first of the best is the answer.
void try_all(const std::vector<std::int64_t>& weights, int stages, Partition& now,
             Partition& best) {
  const int n = static_cast<int>(weights.size());
  const int first = now.layer_count();
  if (stages == 1) {
    now.stages.push_back({first, n});
    if (best.stages.empty() || heaviest(weights, now) < heaviest(weights, best)) best = now;
    now.stages.pop_back();
    return;
  }
  for (int last = first + 1; last <= n - (stages - 1); ++last) {
    now.stages.push_back({first, last});
    try_all(weights, stages - 1, now, best);
    now.stages.pop_back();
  }
}

TEST(BalanceLayers, AgreesWithAllCutsTriedOnTenThousandInstances) {
  constexpr unsigned kSeed = 11;
  std::printf("seed %u\n", kSeed);
  std::mt19937 random(kSeed);
  for (int i = 0; i < 10'000; ++i) {
    std::vector<std::int64_t> weights(1 + random() % 9);
    for (auto& weight : weights) weight = random() % (i % 2 == 0 ? 4 : 1000);
    const int stages = 1 + static_cast<int>(random() % weights.size());
    Partition now;
    Partition best;
    try_all(weights, stages, now, best);
    ASSERT_EQ(balance_layers(weights, stages), best) << to_text(best);
  }
}

TEST(BalanceLayers, FindsTheBalanceThatAKnownBalancerMisses) {
  // Two embeddings' worth, a gap, four blocks, a gap, a head: 2, 2, 2, 2.
  const std::vector<std::int64_t> weights{0, 2, 0, 1, 1, 1, 1, 0, 0, 2, 0};
  EXPECT_EQ(heaviest(weights, balance_layers(weights, 4)), 2);
}

TEST(BalanceLayers, RefusesMoreStagesThanLayers) {
  try {
    static_cast<void>(balance_layers(std::vector<std::int64_t>{1, 2}, 3));
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "3 stages but only 2 layers; use 2 stages or fewer");
  }
}

TEST(PartitionFromCounts, CoversAllLayersOrSaysWhatIsLeft) {
  EXPECT_EQ(to_text(partition_from_counts(std::vector{5, 3}, 8)), "5,3");
  for (const auto& counts : {std::vector{5, 2}, std::vector{5, 4}, std::vector{8, 0}})
    EXPECT_THROW(static_cast<void>(partition_from_counts(counts, 8)), UsageError);
}

}  // namespace
}  // namespace headrace
