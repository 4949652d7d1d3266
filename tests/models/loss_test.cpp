// SPDX-License-Identifier: Apache-2.0
//
// The loss against PyTorch's, and what makes it fit for micro-batches.
#include "headrace/models/loss.h"

#include "headrace/base/error.h"
#include "headrace/models/initial.h"
#include "tests/models/close.h"

#include <ATen/ATen.h>

#include <cmath>

namespace headrace {
namespace {

using test::expect_close;

TEST(CrossEntropy, EqualsPyTorchsAndLeavesTheGradient) {
  // Rows are worked on a few at a time; 1,000 columns make 262 rows a time, 300,000 make one.
  for (const auto& [rows, columns] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{300, 1000}, {3, 300000}, {7, 1}}) {
    at::Tensor logits = normal_weights(1, "logits", {rows, columns}, 3.0);
    at::Tensor targets = at::arange(rows).mul(7).remainder(columns);
    targets[2] = kIgnoredTarget;
    const at::Tensor leaf = logits.clone().requires_grad_();
    const at::Tensor expected =
        at::cross_entropy_loss(leaf, targets, {}, at::Reduction::Sum, kIgnoredTarget) / (rows - 1);
    expected.backward();
    EXPECT_EQ(counted_targets(targets), rows - 1);
    const void* buffer = logits.data_ptr();
    const double loss = cross_entropy(logits, targets, rows - 1, true);
    // PyTorch sums in float32, this in double.
    EXPECT_NEAR(loss, expected.item<double>(), 1e-6 * loss);
    EXPECT_EQ(logits.data_ptr(), buffer);
    EXPECT_LE((logits - leaf.grad()).abs().max().item<double>(),
              4e-6 * leaf.grad().abs().max().item<double>());
    EXPECT_EQ(logits[2].abs().max().item<float>(), 0.0f);
  }
}

// Each row's gradient is its own, so a batch cut into micro-batches of any size has the same bits;
// the losses are sums in double, where another order shows in the last digits only.
TEST(CrossEntropy, MicroBatchesAddUpToTheBatch) {
  const at::Tensor logits = normal_weights(1, "logits", {600, 500}, 3.0);
  at::Tensor targets = at::arange(600).remainder(500);
  targets[599] = kIgnoredTarget;
  at::Tensor whole = logits.clone();
  const double expected = cross_entropy(whole, targets, 599, true);
  for (const std::int64_t size : {1, 7, 250, 599}) {
    double sum = 0;
    for (std::int64_t first = 0; first < 600; first += size) {
      const std::int64_t rows = std::min<std::int64_t>(size, 600 - first);
      at::Tensor part = logits.narrow(0, first, rows).clone();
      sum += cross_entropy(part, targets.narrow(0, first, rows), 599, true);
      EXPECT_TRUE(at::equal(part, whole.narrow(0, first, rows))) << size;
    }
    EXPECT_NEAR(sum, expected, 1e-12 * expected);
  }
}

TEST(CrossEntropy, IsTheSameWithoutAGradient) {
  at::Tensor a = normal_weights(1, "logits", {40, 30}, 3.0);
  at::Tensor b = a.clone();
  const at::Tensor targets = at::arange(40).remainder(30);
  EXPECT_EQ(cross_entropy(a, targets, 40, true), cross_entropy(b, targets, 40, false));
}

TEST(CrossEntropy, OfEqualLogitsIsTheLogarithmOfTheirNumber) {
  at::Tensor logits = at::zeros({5, 256});
  EXPECT_NEAR(cross_entropy(logits, at::arange(5), 5, true), std::log(256.0), 1e-6);
  // 1 / 256 - 1 at the target, 1 / 256 elsewhere, over 5 tokens.
  EXPECT_FLOAT_EQ(logits[3][3].item<float>(), (1.0f / 256 - 1) / 5);
  EXPECT_FLOAT_EQ(logits[3][4].item<float>(), 1.0f / 256 / 5);
}

TEST(CrossEntropy, DoesNotOverflow) {
  at::Tensor logits = at::tensor({1e4f, -1e4f, -1e4f, 1e4f}).view({2, 2});
  EXPECT_EQ(cross_entropy(logits, at::tensor({0, 0}, at::kLong), 1, true), 2e4);
  EXPECT_TRUE(at::equal(logits, at::tensor({0.0f, 0.0f, -1.0f, 1.0f}).view({2, 2})));
}

TEST(CrossEntropy, IsNothingWhereAllTargetsAreIgnored) {
  at::Tensor logits = normal_weights(1, "logits", {4, 6}, 1.0);
  EXPECT_EQ(cross_entropy(logits, at::full({4}, kIgnoredTarget, at::kLong), 9, true), 0.0);
  EXPECT_EQ(logits.abs().max().item<float>(), 0.0f);
}

TEST(CrossEntropy, RefusesTargetsThatAreNoClass) {
  for (const std::int64_t target : {-1, -101, 6}) {
    at::Tensor logits = at::zeros({1, 6});
    EXPECT_THROW(
        static_cast<void>(cross_entropy(logits, at::full({1}, target, at::kLong), 1, true)),
        c10::Error)
        << target;
  }
}

TEST(CrossEntropy, RefusesABatchWithoutTargets) {
  at::Tensor logits = at::zeros({1, 6});
  EXPECT_THROW(static_cast<void>(cross_entropy(logits, at::zeros({1}, at::kLong), 0, true)),
               UsageError);
}

}  // namespace
}  // namespace headrace
