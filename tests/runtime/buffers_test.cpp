// SPDX-License-Identifier: Apache-2.0
#include "headrace/runtime/buffers.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(Buffers, TravelWithoutCopying) {
  const at::Tensor x = at::arange(12, at::kFloat).view({3, 4});
  const Buffer buffer = to_buffer(x);
  EXPECT_EQ(static_cast<void*>(buffer.data), x.data_ptr());
  EXPECT_EQ(buffer.size, 48u);
  EXPECT_EQ(buffer.shape, (std::vector<std::int64_t>{3, 4}));
  const at::Tensor y = to_tensor(buffer);
  EXPECT_EQ(y.data_ptr(), x.data_ptr());
  EXPECT_TRUE(at::equal(x, y));
}

TEST(Buffers, KeepEveryElementType) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kLong, at::kInt, at::kBool,
                                    at::kByte, at::kBFloat16, at::kHalf}) {
    const at::Tensor x = at::ones({2, 3}, type);
    const at::Tensor y = to_tensor(to_buffer(x));
    EXPECT_EQ(y.scalar_type(), type);
    EXPECT_TRUE(at::equal(x, y));
    EXPECT_EQ(to_buffer(x).requires_grad, x.is_floating_point());
  }
}

TEST(Buffers, CarryNoAutogradGraphAcross) {
  at::Tensor x = at::ones({2});
  x.requires_grad_();
  EXPECT_FALSE(to_tensor(to_buffer(x * 2)).requires_grad());
}

TEST(Buffers, MakeAViewDense) {
  const at::Tensor x = at::arange(12, at::kFloat).view({3, 4}).t();
  const at::Tensor y = to_tensor(to_buffer(x));
  EXPECT_TRUE(y.is_contiguous());
  EXPECT_TRUE(at::equal(x, y));
}

TEST(Buffers, KeepEmptyAndScalarShapes) {
  EXPECT_EQ(to_tensor(to_buffer(at::empty({0, 2}))).sizes(), (at::IntArrayRef{0, 2}));
  EXPECT_EQ(to_tensor(to_buffer(at::full({}, 3.0))).item<double>(), 3.0);
}

TEST(Buffers, SayThatThereIsNoValue) {
  const Buffer none = to_buffer(at::Tensor());
  EXPECT_FALSE(none.defined);
  EXPECT_FALSE(to_tensor(none).defined());
}

// As a transport between processes delivers them.
TEST(Buffers, WrapMemoryFromElsewhereAndKeepItsOwner) {
  auto owner = std::make_shared<std::vector<float>>(6, 2.5f);
  const std::weak_ptr<std::vector<float>> watched = owner;
  Buffer buffer{owner,
                reinterpret_cast<std::byte*>(owner->data()),
                24,
                static_cast<std::int32_t>(at::kFloat),
                {2, 3}};
  at::Tensor x = to_tensor(std::move(buffer));
  owner.reset();
  ASSERT_FALSE(watched.expired());
  EXPECT_TRUE(at::equal(x, at::full({2, 3}, 2.5)));
  x.reset();
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace headrace
