// SPDX-License-Identifier: Apache-2.0
//
// Gradients accumulate in place; the first micro-batch of a step overwrites.
#include "headrace/models/parameter.h"

#include "headrace/base/error.h"
#include "headrace/models/initial.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace headrace {
namespace {

Parameter parameter_of(at::IntArrayRef shape) {
  Parameter parameter;
  parameter.name = "w";
  parameter.value = at::zeros(shape);
  return parameter;
}

at::Tensor floats(std::vector<float> values, at::IntArrayRef shape) {
  return at::tensor(values).view(shape);
}

TEST(Accumulate, ProductsAreXTransposedTimesY) {
  Parameter w = parameter_of({2, 3});
  const at::Tensor x = floats({1, 2, 3, 4}, {2, 2});
  const at::Tensor y = floats({1, 0, 2, 0, 1, 1}, {2, 3});
  accumulate_product(w, x, y);
  EXPECT_TRUE(at::equal(w.grad, floats({1, 3, 5, 2, 4, 8}, {2, 3})));
  accumulate_product(w, x, y);
  EXPECT_TRUE(at::equal(w.grad, floats({2, 6, 10, 4, 8, 16}, {2, 3})));
}

TEST(Accumulate, RowsAreSummed) {
  Parameter b = parameter_of({2});
  accumulate_rows(b, floats({1, 2, 3, 4, 5, 6}, {3, 2}));
  EXPECT_TRUE(at::equal(b.grad, floats({9, 12}, {2})));
  accumulate_rows(b, floats({1, 1}, {1, 2}));
  EXPECT_TRUE(at::equal(b.grad, floats({10, 13}, {2})));
}

// A token that occurs twice gets both gradients, one that does not occur gets zero.
TEST(Accumulate, IndexedRowsAddUpWhereIndicesRepeat) {
  Parameter table = parameter_of({3, 2});
  const at::Tensor tokens = at::tensor({2, 0, 2}, at::kLong);
  accumulate_indexed(table, tokens, floats({1, 2, 3, 4, 5, 6}, {3, 2}));
  EXPECT_TRUE(at::equal(table.grad, floats({3, 4, 0, 0, 6, 8}, {3, 2})));
  accumulate_indexed(table, tokens, floats({1, 1, 1, 1, 1, 1}, {3, 2}));
  EXPECT_TRUE(at::equal(table.grad, floats({4, 5, 0, 0, 8, 10}, {3, 2})));
}

// The buffer lives on from step to step, so what it holds at a step's start must never be read,
// not even where it is not a number.
TEST(Accumulate, TheFirstOfAStepReadsNothing) {
  const at::Tensor x = normal_weights(1, "x", {5, 4}, 1.0);
  const at::Tensor y = normal_weights(1, "y", {5, 3}, 1.0);
  const auto each = [&](auto call) {
    Parameter fresh = parameter_of({4, 3});
    Parameter used = parameter_of({4, 3});
    used.grad = at::full({4, 3}, NAN);
    const void* buffer = used.grad.data_ptr();
    call(fresh);
    call(used);
    EXPECT_TRUE(at::equal(fresh.grad, used.grad));
    EXPECT_EQ(used.grad.data_ptr(), buffer);
    EXPECT_TRUE(used.has_grad);
  };
  each([&](Parameter& w) { accumulate_product(w, x, y); });
  each([&](Parameter& w) { accumulate(w, x.t().mm(y)); });
  each([&](Parameter& w) { accumulate_indexed(w, at::tensor({1, 1, 0, 2, 3}, at::kLong), y); });
  each([&](Parameter& w) { accumulate_rows(w, at::stack({x.t().mm(y), x.t().mm(y)})); });
}

// What is handed in may be a view of something that changes later.
TEST(Accumulate, KeepsACopy) {
  Parameter w = parameter_of({2});
  at::Tensor grad = floats({1, 2}, {2});
  accumulate(w, grad);
  grad.zero_();
  EXPECT_TRUE(at::equal(w.grad, floats({1, 2}, {2})));
}

TEST(Accumulate, RefusesAnotherShape) {
  Parameter w = parameter_of({2, 3});
  EXPECT_THROW(accumulate(w, at::zeros({3, 2})), InternalError);
  EXPECT_FALSE(w.has_grad);
}

TEST(Initial, DependsOnSeedAndNameOnly) {
  const at::Tensor a = normal_weights(1, "w", {1000}, 0.5);
  EXPECT_TRUE(at::equal(a, normal_weights(1, "w", {1000}, 0.5)));
  EXPECT_FALSE(at::equal(a, normal_weights(2, "w", {1000}, 0.5)));
  EXPECT_FALSE(at::equal(a, normal_weights(1, "v", {1000}, 0.5)));
  // Four deviations of the mean and of the deviation of 1,000 draws.
  EXPECT_NEAR(a.mean().item<double>(), 0.0, 4 * 0.5 / std::sqrt(1000.0));
  EXPECT_NEAR(a.std().item<double>(), 0.5, 4 * 0.5 / std::sqrt(2000.0));
}

// A count that four does not divide: the last block of random words is cut short.
TEST(Initial, AShorterTensorIsTheBeginningOfALongerOne) {
  const at::Tensor a = normal_weights(1, "w", {1003}, 0.5);
  EXPECT_TRUE(at::equal(a.narrow(0, 0, 7), normal_weights(1, "w", {7}, 0.5)));
  EXPECT_TRUE(a.isfinite().all().item<bool>());
}

}  // namespace
}  // namespace headrace
