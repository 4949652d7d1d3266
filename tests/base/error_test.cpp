// SPDX-License-Identifier: Apache-2.0
#include "headrace/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Error, HasACodeForEachType) {
  EXPECT_EQ(UsageError("").code(), ErrorCode::Usage);
  EXPECT_EQ(ParseError("").code(), ErrorCode::Parse);
  EXPECT_EQ(IoError("").code(), ErrorCode::Io);
  EXPECT_EQ(TransportError("").code(), ErrorCode::Transport);
  EXPECT_EQ(ComputeError("").code(), ErrorCode::Compute);
  EXPECT_EQ(CanceledError("").code(), ErrorCode::Canceled);
  EXPECT_EQ(InternalError("").code(), ErrorCode::Internal);
}

TEST(Error, KeepsItsMessageBehindTheCommonType) {
  try {
    throw ParseError("a.toml:3:1: no value");
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "a.toml:3:1: no value");
    EXPECT_EQ(error.code(), ErrorCode::Parse);
  }
}

TEST(ErrorCodeName, IsStable) {
  EXPECT_EQ(error_code_name(ErrorCode::Usage), "usage");
  EXPECT_EQ(error_code_name(ErrorCode::Parse), "parse");
  EXPECT_EQ(error_code_name(ErrorCode::Io), "io");
  EXPECT_EQ(error_code_name(ErrorCode::Transport), "transport");
  EXPECT_EQ(error_code_name(ErrorCode::Compute), "compute");
  EXPECT_EQ(error_code_name(ErrorCode::Canceled), "canceled");
  EXPECT_EQ(error_code_name(ErrorCode::Internal), "internal");
}

TEST(HeadraceCheck, SaysPlaceConditionAndValuesAndAsksForAReport) {
  const int live = -3;
  try {
    HEADRACE_CHECK(live >= 0, "live is {}", live);
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), HasSubstr("error_test.cpp:"));
    EXPECT_THAT(error.what(), HasSubstr("live is -3 (live >= 0 does not hold)"));
    EXPECT_THAT(error.what(), HasSubstr("please report it"));
  }
}

TEST(HeadraceCheck, DoesNothingWhereTheConditionHolds) {
  EXPECT_NO_THROW(HEADRACE_CHECK(1 + 1 == 2, "arithmetic"));
}

TEST(FailCheck, NamesTheFileFromTheRootOfTheRepository) {
  try {
    fail_check("/somewhere/else/headrace/base/x.cpp", 12, "a", "b");
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), StartsWith("headrace/base/x.cpp:12: b (a does not hold)."));
  }
}

}  // namespace
}  // namespace headrace
