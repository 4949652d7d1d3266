// SPDX-License-Identifier: Apache-2.0
#include "headrace/runtime/batch_source.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

std::vector<std::uint8_t> letters(int count) {
  std::vector<std::uint8_t> text;
  for (int i = 0; i < count; ++i) text.push_back(static_cast<std::uint8_t>(i % 251));
  return text;
}

at::Tensor all_inputs(const BatchSource& source, std::int64_t step, int micro_batches) {
  std::vector<at::Tensor> parts;
  for (int k = 0; k < micro_batches; ++k) parts.push_back(source.inputs(step, k));
  return at::cat(parts);
}

TEST(TrainingText, HasTheSameRowsHoweverTheBatchIsCut) {
  const auto text = letters(5000);
  const TrainingText whole(text, 8, 3, {7});
  const TrainingText cut(text, 8, 3, {3, 2, 2});
  for (const std::int64_t step : {0, 1, 1000000}) {
    EXPECT_TRUE(at::equal(whole.inputs(step, 0), all_inputs(cut, step, 3)));
    EXPECT_EQ(cut.total_targets(step), 56);
  }
}

TEST(TrainingText, TargetsAreTheBytesAfterTheInputs) {
  const auto text = letters(5000);
  const TrainingText source(text, 8, 3, {3, 2});
  const at::Tensor inputs = source.inputs(4, 1);
  const at::Tensor targets = source.targets(4, 1);
  EXPECT_EQ(inputs.sizes(), (at::IntArrayRef{2, 8}));
  EXPECT_EQ(targets.sizes(), (at::IntArrayRef{16}));
  EXPECT_TRUE(at::equal(targets, (inputs.reshape({-1}) + 1).remainder(251)));
}

TEST(EvaluationText, GoesThroughTheTextInOrderHoweverItIsCut) {
  const auto text = letters(100);
  const EvaluationText whole(text, 8, {5});
  const EvaluationText cut(text, 8, {2, 2, 1});
  EXPECT_TRUE(at::equal(whole.inputs(0, 0).reshape({-1}), at::arange(40, at::kLong)));
  EXPECT_TRUE(at::equal(whole.inputs(0, 0), all_inputs(cut, 9, 3)));
  EXPECT_TRUE(at::equal(cut.targets(0, 2), at::arange(33, 41, at::kLong)));
  EXPECT_EQ(cut.total_targets(0), 40);
}

}  // namespace
}  // namespace headrace
