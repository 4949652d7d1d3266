// SPDX-License-Identifier: Apache-2.0
#include "headrace/base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

using ::testing::ElementsAre;

TEST(ParseDigits, TakesDigitsOnly) {
  EXPECT_EQ(parse_digits("0"), 0);
  EXPECT_EQ(parse_digits("007"), 7);
  EXPECT_EQ(parse_digits("9223372036854775807"), 9223372036854775807);
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "1.0", "0x1", "1a", "9223372036854775808",
                           "99999999999999999999999"})
    EXPECT_EQ(parse_digits(text), std::nullopt) << '"' << text << '"';
}

TEST(Split, CutsAtEverySeparator) {
  EXPECT_THAT(split("", ','), ElementsAre(""));
  EXPECT_THAT(split("a", ','), ElementsAre("a"));
  EXPECT_THAT(split("a,,b,", ','), ElementsAre("a", "", "b", ""));
}

TEST(Trim, RemovesBlanksAndTabsAtBothEnds) {
  EXPECT_EQ(trim("  a b\t"), "a b");
  EXPECT_EQ(trim(" \t "), "");
  EXPECT_EQ(trim(""), "");
  EXPECT_EQ(trim("a\n"), "a\n");
}

const std::vector<std::string> kNames{"naive", "gpipe", "1f1b", "interleaved-1f1b"};

TEST(NearestName, FindsTheLikelyMeaning) {
  EXPECT_EQ(nearest_name("1f1c", kNames), "1f1b");
  EXPECT_EQ(nearest_name("gpie", kNames), "gpipe");
  EXPECT_EQ(nearest_name("interleaved1f1b", kNames), "interleaved-1f1b");
}

TEST(NearestName, FindsNoneWhereNoneIsNear) {
  EXPECT_EQ(nearest_name("zzzzz", kNames), std::nullopt);
  EXPECT_EQ(nearest_name("", kNames), std::nullopt);
  EXPECT_EQ(nearest_name("1f1b", std::vector<std::string>{}), std::nullopt);
}

TEST(NearestName, TakesTheEarlierOnATie) {
  EXPECT_EQ(nearest_name("ax", std::vector<std::string>{"ab", "ac"}), "ab");
  EXPECT_EQ(nearest_name("ax", std::vector<std::string>{"ac", "ab"}), "ac");
}

// A megabyte of junk as a name must not cost a megabyte squared.
TEST(NearestName, DoesNotMeasureVeryLongNames) {
  EXPECT_EQ(nearest_name(std::string(1'000'000, '1'), kNames), std::nullopt);
}

TEST(UnknownName, SuggestsTheNearestOrListsAll) {
  EXPECT_EQ(unknown_name("schedule", "1f1c", kNames),
            "unknown schedule \"1f1c\"; did you mean \"1f1b\"?");
  EXPECT_EQ(unknown_name("schedule", "zzzzz", kNames),
            "unknown schedule \"zzzzz\"; known are: naive, gpipe, 1f1b, interleaved-1f1b");
}

TEST(QuoteForMessage, EscapesControlCharactersAndCutsLongText) {
  EXPECT_EQ(quote_for_message("plain"), "plain");
  EXPECT_EQ(quote_for_message("a\nb\x1b[31m\x7f"), "a\\x0ab\\x1b[31m\\x7f");
  EXPECT_EQ(quote_for_message(std::string_view("\0x", 2)), "\\x00x");
  EXPECT_EQ(quote_for_message("abcdef", 3), "abc...");
  EXPECT_EQ(quote_for_message("abc", 3), "abc");
}

}  // namespace
}  // namespace headrace
