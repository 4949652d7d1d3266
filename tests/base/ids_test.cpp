// SPDX-License-Identifier: Apache-2.0
#include "headrace/base/ids.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace headrace {
namespace {

TEST(Id, NamesNothingUntilItIsGivenANumber) {
  EXPECT_FALSE(StageId().valid());
  EXPECT_FALSE(StageId(-1).valid());
  EXPECT_TRUE(StageId(0).valid());
  EXPECT_EQ(StageId(7).index(), 7u);
}

TEST(Id, IsOrderedByItsNumber) {
  EXPECT_LT(RankId(2), RankId(10));
  EXPECT_EQ(RankId(3), RankId(3));
  EXPECT_LT(RankId(), RankId(0));
}

TEST(Id, DoesNotMixWithOtherKindsOrWithNumbers) {
  static_assert(!std::is_convertible_v<int, RankId>);
  static_assert(!std::is_convertible_v<RankId, int>);
  static_assert(!std::is_constructible_v<RankId, StageId>);
  static_assert(!std::is_assignable_v<RankId&, StageId>);
  static_assert(sizeof(MicroBatchId) == 4);
}

}  // namespace
}  // namespace headrace
