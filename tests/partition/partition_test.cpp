// SPDX-License-Identifier: Apache-2.0
#include "headrace/partition/partition.h"

#include "headrace/base/error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>

namespace headrace {
namespace {

std::string usage_error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

std::string cut(const std::vector<std::int64_t>& weights, int stages) {
  return to_text(balance_layers(weights, stages));
}

TEST(BalanceLayers, MakesTheHeaviestStageAsLightAsPossible) {
  EXPECT_EQ(cut({5, 1, 1, 1, 4}, 2), "2,3");        // 6 | 6
  EXPECT_EQ(cut({9, 1, 1, 1, 1, 1}, 3), "1,1,4");   // 9 bounds all, so the earliest cuts
  EXPECT_EQ(cut({1, 2, 3, 4, 5}, 5), "1,1,1,1,1");  // no choice
  EXPECT_EQ(cut({7}, 1), "1");
}

TEST(BalanceLayers, CutsAsEarlyAsTheOptimumAllows) {
  EXPECT_EQ(cut({1, 1, 1, 1, 1}, 2), "2,3");
  EXPECT_EQ(cut({0, 0, 0, 0}, 3), "1,1,2");
}

TEST(BalanceLayers, TakesSumsCloseToTheEndOfTheRange) {
  constexpr std::int64_t kThird = INT64_MAX / 3;
  EXPECT_EQ(cut({kThird, kThird, kThird}, 2), "1,2");
}

// Trying each cut against all layers behind it took 1.6 s here.
TEST(BalanceLayers, TakesAHundredThousandLayersInLessThanASecond) {
  std::vector<std::int64_t> weights(100'000);
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = static_cast<std::int64_t>(i * 7919 % 1000);
  const auto start = std::chrono::steady_clock::now();
  const Partition partition = balance_layers(weights, 64);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  std::int64_t heaviest = 0;
  for (const LayerRange& range : partition.stages)
    heaviest = std::max(heaviest, std::accumulate(weights.begin() + range.first,
                                                  weights.begin() + range.last, std::int64_t{0}));
  const std::int64_t sum = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
  EXPECT_EQ(partition.layer_count(), 100'000);
  EXPECT_GE(heaviest, sum / 64);
  EXPECT_LT(heaviest, sum / 64 + 1000);  // never a whole layer above the mean
}

TEST(BalanceLayers, RefusesNoStageAndNegativeWeights) {
  EXPECT_EQ(usage_error_of([] {
              static_cast<void>(cut({1, 2}, 0));
            }),
            "0 stages; expected 1 or more");
  EXPECT_THROW(static_cast<void>(cut({1, -1}, 1)), InternalError);
}

TEST(PartitionFromCounts, NamesTheStageOrTheSumThatIsWrong) {
  const auto error_of = [](std::vector<int> counts) {
    return usage_error_of([&] { static_cast<void>(partition_from_counts(counts, 8)); });
  };
  EXPECT_EQ(error_of({8, 0}), "cut: stage 1 has 0 layers; each stage needs 1 or more");
  EXPECT_EQ(error_of({5, 4}), "cut: 5 + 4 give more than the 8 layers there are");
  EXPECT_EQ(error_of({5, 2}), "cut: 5 + 2 = 7 layers, but there are 8");
}

TEST(StageCosts, SumsTheLayersOfAStageAndSendsWhatItsLastLayerPutsOut) {
  ModelProfile profile;
  for (const int n : {1, 2, 3}) {
    LayerProfile& layer = profile.layers.emplace_back();
    layer.forward = Time(n);
    layer.input_grad = Time(10 * n);
    layer.weight_grad = Time(100 * n);
    layer.weights = Bytes(1000 * n);
    layer.activation = Bytes(10'000 * n);
    layer.output = Bytes(100'000 * n);
  }
  const StageCosts costs = stage_costs(profile, partition_from_counts(std::vector{2, 1}, 3));
  ASSERT_EQ(costs.stages.size(), 2u);
  StageCost first;
  first.forward = Time(3);
  first.input_grad = Time(30);
  first.weight_grad = Time(300);
  first.weights = first.gradients = Bytes(3000);
  first.activation = Bytes(30'000);
  first.output = Bytes(200'000);
  EXPECT_EQ(costs.stages[0], first);
  EXPECT_EQ(costs.stages[1].forward, Time(3));
  EXPECT_EQ(costs.stages[1].output, Bytes(300'000));
}

TEST(StageCosts, RefusesACutOfAnotherNetwork) {
  ModelProfile profile;
  profile.layers.resize(3);
  EXPECT_EQ(usage_error_of([&] {
              static_cast<void>(stage_costs(profile, partition_from_counts(std::vector{2, 2}, 4)));
            }),
            "the cut covers 4 layers, but the profile has 3");
}

}  // namespace
}  // namespace headrace
