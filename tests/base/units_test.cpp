// SPDX-License-Identifier: Apache-2.0
#include "headrace/base/units.h"

#include "headrace/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

using ::testing::HasSubstr;

TEST(ParseTime, TakesANumberAndAUnit) {
  EXPECT_EQ(parse_time("0ns"), Time(0));
  EXPECT_EQ(parse_time("250ns"), Time(250));
  EXPECT_EQ(parse_time("12us"), Time(12'000));
  EXPECT_EQ(parse_time("1.5ms"), Time(1'500'000));
  EXPECT_EQ(parse_time("3s"), Time(3'000'000'000));
  EXPECT_EQ(parse_time(" 20 ms "), Time(20'000'000));
}

TEST(ParseTime, IsExact) {
  EXPECT_EQ(parse_time("0.000000001s"), Time(1));
  EXPECT_EQ(parse_time("123456789.123456789s"), Time(123'456'789'123'456'789));
  EXPECT_EQ(parse_time("9223372036854775807ns"), Time(9223372036854775807));
}

TEST(ParseTime, RefusesWhatIsNotWholeNanoseconds) {
  for (const char* text : {"",
                           " ",
                           "us",
                           "5",
                           "-1us",
                           "+1us",
                           "1.5ns",
                           "0.1ns",
                           "1..5us",
                           "1.us",
                           ".5us",
                           "1e3us",
                           "1 000us",
                           "5 minutes",
                           "5US",
                           "nan s",
                           "inf s",
                           "1us2",
                           "9223372036854775808ns",
                           "99999999999s",
                           "99999999999999999999s",
                           "0.0000000000000000001s",
                           "1,5ms"})
    EXPECT_THROW((void)parse_time(text), UsageError) << '"' << text << '"';
}

TEST(ParseTime, QuotesTheTextAndShowsWorkingValues) {
  try {
    (void)parse_time("5 minutes\n");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("\"5 minutes\\x0a\""));
    EXPECT_THAT(error.what(), HasSubstr("1.5us"));
  }
}

TEST(ParseBytes, TakesBinaryAndDecimalUnits) {
  EXPECT_EQ(parse_bytes("4096"), Bytes(4096));
  EXPECT_EQ(parse_bytes("4096B"), Bytes(4096));
  EXPECT_EQ(parse_bytes("2kB"), Bytes(2'000));
  EXPECT_EQ(parse_bytes("2MB"), Bytes(2'000'000));
  EXPECT_EQ(parse_bytes("2GB"), Bytes(2'000'000'000));
  EXPECT_EQ(parse_bytes("1TB"), Bytes(1'000'000'000'000));
  EXPECT_EQ(parse_bytes("3KiB"), Bytes(3072));
  EXPECT_EQ(parse_bytes("1.5 MiB"), Bytes(1'572'864));
  EXPECT_EQ(parse_bytes("16GiB"), Bytes(17'179'869'184));
  EXPECT_EQ(parse_bytes("1TiB"), Bytes(1'099'511'627'776));
}

TEST(ParseBytes, RefusesFractionsOfAByteAndWhatDoesNotFit) {
  for (const char* text : {"", "B", "-1", "1.5", "1.5B", "0.3KiB", "1.2345kB", "8388608TiB", "1KB",
                           "1kib", "1 G", "1e9", "0x10", "9223372036854775808", "1GiB1"})
    EXPECT_THROW((void)parse_bytes(text), UsageError) << '"' << text << '"';
  EXPECT_EQ(parse_bytes("8388607TiB"), Bytes(8388607 * (std::int64_t{1} << 40)));
}

TEST(FormatTime, HasThreeDigitsAndAUnit) {
  EXPECT_EQ(format_time(Time(0)), "0 ns");
  EXPECT_EQ(format_time(Time(999)), "999 ns");
  EXPECT_EQ(format_time(Time(1'000)), "1.00 us");
  EXPECT_EQ(format_time(Time(12'345)), "12.3 us");
  EXPECT_EQ(format_time(Time(123'456)), "123 us");
  EXPECT_EQ(format_time(Time(1'500'000'000)), "1.50 s");
  EXPECT_EQ(format_time(Time(-12'345)), "-12.3 us");
}

// 9.996 us is 10.0 us in three digits, not 10.00; and 999.6 us is 1.00 ms, not 1000 us.
TEST(FormatTime, KeepsThreeDigitsWhereRoundingCarries) {
  EXPECT_EQ(format_time(Time(9'996)), "10.0 us");
  EXPECT_EQ(format_time(Time(99'960)), "100 us");
  EXPECT_EQ(format_time(Time(999'600)), "1.00 ms");
  EXPECT_EQ(format_time(Time(999'400)), "999 us");
}

TEST(FormatBytes, HasThreeDigitsAndABinaryUnit) {
  EXPECT_EQ(format_bytes(Bytes(0)), "0 B");
  EXPECT_EQ(format_bytes(Bytes(1023)), "1023 B");
  EXPECT_EQ(format_bytes(Bytes(1024)), "1.00 KiB");
  EXPECT_EQ(format_bytes(Bytes(1'610'612'736)), "1.50 GiB");
  EXPECT_EQ(format_bytes(Bytes(100 * 1024)), "100 KiB");
  EXPECT_EQ(format_bytes(Bytes(-2048)), "-2.00 KiB");
  EXPECT_EQ(format_bytes(Bytes(-20480)), "-20.0 KiB");
  EXPECT_EQ(format_bytes(Bytes((std::int64_t{1} << 20) - 1)), "1.00 MiB");
}

TEST(Bytes, AddsSubtractsAndScales) {
  EXPECT_EQ(Bytes(5) + Bytes(7), Bytes(12));
  EXPECT_EQ(Bytes(5) - Bytes(7), Bytes(-2));
  EXPECT_EQ(Bytes(5) * 3, Bytes(15));
  Bytes bytes(1);
  bytes += Bytes(9);
  bytes -= Bytes(4);
  EXPECT_EQ(bytes, Bytes(6));
}

}  // namespace
}  // namespace headrace
