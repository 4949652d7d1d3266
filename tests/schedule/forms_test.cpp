// SPDX-License-Identifier: Apache-2.0
//
// The orders as printed in the literature, and both text forms.
#include "headrace/base/error.h"
#include "headrace/schedule/basic.h"
#include "headrace/schedule/csv.h"
#include "headrace/schedule/generate.h"
#include "headrace/schedule/lower.h"
#include "headrace/schedule/peak.h"
#include "headrace/schedule/text_form.h"
#include "headrace/schedule/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <sstream>

namespace headrace {
namespace {

using ::testing::HasSubstr;

std::string list_of(const Schedule& schedule, std::size_t rank) {
  std::string text;
  for (const Action& a : schedule.ranks[rank])
    text += std::string(kind_token(a.kind)) + std::to_string(a.micro_batch.value) + " ";
  text.pop_back();
  return text;
}

TEST(OneFOneB, HasThePrintedOrder) {
  const Schedule schedule = one_f_one_b(4, 8);
  EXPECT_EQ(list_of(schedule, 0), "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7");
  EXPECT_EQ(list_of(schedule, 1), "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 B6 B7");
  EXPECT_EQ(list_of(schedule, 2), "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 B7");
  EXPECT_EQ(list_of(schedule, 3), "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7");
}

TEST(GPipe, HasThePrintedOrders) {
  for (std::size_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(list_of(gpipe(4, 8, true), rank), "F0 F1 F2 F3 F4 F5 F6 F7 B7 B6 B5 B4 B3 B2 B1 B0");
    EXPECT_EQ(list_of(gpipe(4, 8), rank), "F0 F1 F2 F3 F4 F5 F6 F7 B0 B1 B2 B3 B4 B5 B6 B7");
    EXPECT_EQ(list_of(naive(4, 3), rank), "F0 B0 F1 B1 F2 B2");
  }
}

// DeepSpeed writes 1F1B as global ticks t: an independent derivation of the same lists.
TEST(OneFOneB, EqualsTheGlobalTicks) {
  for (int p = 1; p <= 8; ++p)
    for (int m = 1; m <= 13; ++m)
      for (int s = 0; s < p; ++s) {
        std::string expected;
        for (int t = 0; t < 2 * (m + p - 1); ++t) {
          const bool forward = t % 2 == s % 2;
          int k = 0;
          if (forward)
            k = t % 2 == 0 ? t / 2 - s / 2 : (t - 1) / 2 - s / 2;
          else
            k = t % 2 == 0 ? t / 2 - p + (s + 1) / 2 : (t - 1) / 2 - p + 1 + s / 2;
          if (k < 0 || k >= m) continue;
          expected += (forward ? "F" : "B") + std::to_string(k) + " ";
        }
        expected.pop_back();
        EXPECT_EQ(list_of(one_f_one_b(p, m), static_cast<std::size_t>(s)), expected)
            << p << " " << m << " " << s;
      }
}

TEST(PeakLive, IsWhatTheMethodsPromise) {
  EXPECT_EQ(peak_live(one_f_one_b(4, 8)), (std::vector<int>{4, 3, 2, 1}));
  EXPECT_EQ(peak_live(one_f_one_b(4, 8, 3)), (std::vector<int>{3, 3, 2, 1}));
  EXPECT_EQ(peak_live(one_f_one_b(4, 2)), (std::vector<int>{2, 2, 2, 1}));
  EXPECT_EQ(peak_live(gpipe(3, 5)), (std::vector<int>{5, 5, 5}));
  EXPECT_EQ(peak_live(naive(3, 5)), (std::vector<int>{1, 1, 1}));
}

TEST(Text, IsLossless) {
  Schedule schedule = lower(one_f_one_b(3, 4));
  schedule.weights = {WeightRule::DoubleBuffer, 2, {2, 2, 2}};
  schedule.hosts = {RankId(2), RankId(1), RankId(0)};
  EXPECT_EQ(parse_schedule(to_text(schedule), "again"), schedule);
  const std::string sliced =
      "headrace-schedule 1\nname s\nmicro-batches 1\nslices 2\nplace 0\nplace 1\nflow 1\n"
      "rank 0:\nrank 1: 0F0.0 0F0.1 (0F0.1;0B0.1)OVERLAP_F_B 0UPDATE 0REDUCE_GRAD\n";
  EXPECT_EQ(to_text(parse_schedule(sliced, "s")),
            "headrace-schedule 1\nname s\nmicro-batches 1\n"
            "slices 2\nplace 0\nplace 1\nflow 1\nrank 0: \nrank 1: 0F0.0 0F0.1 "
            "(0F0.1;0B0.1)OVERLAP_F_B 0UPDATE 0REDUCE_GRAD\n");
}

TEST(Text, TheExampleOfThePageParsesAndVerifies) {
  std::ifstream file(std::string(HEADRACE_SOURCE_DIR) + "/docs/schedule-text.md");
  std::ostringstream page;
  page << file.rdbuf();
  const auto begin = page.str().find("```\n") + 4;
  const Schedule schedule =
      parse_schedule(page.str().substr(begin, page.str().find("```", begin) - begin), "page");
  EXPECT_EQ(schedule.name, "by-hand");
  EXPECT_TRUE(verify(schedule).empty());
}

TEST(Csv, IsReadAndWrittenAsPyTorchDoes) {
  const std::string lowered = to_csv(lower(one_f_one_b(2, 1)));
  EXPECT_EQ(lowered, "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n");
  Schedule read = parse_schedule(lowered, "x.csv");
  EXPECT_EQ(read.ranks, lower(one_f_one_b(2, 1)).ranks);
  EXPECT_EQ(to_csv(parse_schedule("0UNSHARD,0F0, ,0B0,0RESHARD,0REDUCE_GRAD\n", "x")),
            "0F0,0B0,0REDUCE_GRAD\n");
  EXPECT_EQ(to_csv(parse_schedule("0F0,(0F1;0B0)OVERLAP_F_B,0B1\n", "x")),
            "0F0,(0F1;0B0)OVERLAP_F_B,0B1\n");
}

TEST(Csv, TakesRowsOfDifferentLengthAndEmptyCellsAnywhere) {
  const Schedule read = parse_schedule(",0F0,,,0B0,,\n,,1F0,1B0\n\n", "x");
  EXPECT_EQ(to_csv(read), "0F0,0B0\n1F0,1B0\n");
  EXPECT_TRUE(verify(read).empty());
}

TEST(Csv, RefusesWhatItCannotHold) {
  Schedule schedule = one_f_one_b(2, 2);
  schedule.slices = 2;
  EXPECT_THROW(static_cast<void>(to_csv(schedule)), UsageError);
}

std::string error_of(const std::string& text) {
  try {
    static_cast<void>(parse_schedule(text, "x"));
  } catch (const ParseError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Parse, NamesLineColumnTokenAndWhatIsExpected) {
  EXPECT_THAT(error_of("0F0,0F1junk\n"),
              HasSubstr("x:1:5: \"0F1junk\" has \"junk\" after its end"));
  EXPECT_THAT(error_of("0F0\n1G0\n"), HasSubstr("x:2:1: \"1G0\" names no kind of action (\"G\")"));
  EXPECT_THAT(error_of("F0\n"), HasSubstr("x:1:1: \"F0\" does not begin with a stage number"));
  EXPECT_THAT(error_of("0F\n"), HasSubstr("\"0F\" has no micro-batch number"));
  EXPECT_THAT(error_of("0F99999999999999999999999\n"), HasSubstr("x:1:1: micro-batch is"));
  EXPECT_THAT(error_of("0F0,(0F1;0B0)\n"), HasSubstr("x:1:5: \"(0F1;0B0)\" is not a pair"));
  EXPECT_THAT(error_of("(0F1;0B0;0F2)OVERLAP_F_B\n"), HasSubstr("holds 3 actions"));
  EXPECT_THAT(error_of("0F0,0B0\r\n"), HasSubstr("x:1:8: holds a carriage return"));
  EXPECT_THAT(error_of("\xEF\xBB\xBF"
                       "0F0,0B0\n"),
              HasSubstr("x:1:1: begins with a byte order mark"));
  EXPECT_THAT(error_of(""), HasSubstr("x:1:1: is empty"));
  EXPECT_THAT(error_of("0F0,,0SEND_F0\n1RECV_F0,1F0\n"), HasSubstr("x:1:5: an empty cell"));
  EXPECT_THAT(error_of("0F0,0B0\n0F1,0B1\n"), HasSubstr("x:2: 0F1 computes stage 0, which row 1"));
  EXPECT_THAT(error_of("0F0,2F0\n"), HasSubstr("names stage 2, but holds only 2 actions"));
  EXPECT_THAT(error_of("headrace-schedule 2\n"), HasSubstr("the only version there is"));
  EXPECT_THAT(error_of("headrace-schedule 1\nmicro-batches 0\n"),
              HasSubstr("x:2:15: micro-batches is 0"));
  EXPECT_THAT(error_of("headrace-schedule 1\nname a\nname b\n"), HasSubstr("x:3:1: a second line"));
  EXPECT_THAT(error_of("headrace-schedule 1\nplaces 0\n"), HasSubstr("did you mean \"place\"?"));
  EXPECT_THAT(error_of("headrace-schedule 1\nrank 1: 0F0\n"),
              HasSubstr("x:2:6: rank 1 stands where rank 0"));
  EXPECT_THAT(error_of("headrace-schedule 1\nmicro-batches 1\nplace 0\n"),
              HasSubstr("no line \"rank 0:"));
}

// Numbers past every integer type are refused by their value, not wrapped around.
TEST(Parse, RefusesNumbersOutOfRangeWhereverTheyStand) {
  const std::string huge = "9223372036854775808";
  EXPECT_THAT(error_of(huge + "F0\n"), HasSubstr("x:1:1: stage is"));
  EXPECT_THAT(error_of("0F1000001\n"), HasSubstr("x:1:1: micro-batch is"));
  for (const std::string line : {"micro-batches ", "slices ", "place ", "flow ", "hosts ",
                                 "versions ", "weights stash per ", "rank "})
    EXPECT_THAT(error_of("headrace-schedule 1\n" + line + huge + "\n"), HasSubstr("x:2:")) << line;
  EXPECT_THAT(error_of("headrace-schedule 1\nmicro-batches -1\n"), HasSubstr("x:2:15:"));
}

TEST(Parse, TakesAMillionColumnsInLessThanASecond) {
  std::string row;
  for (int i = 0; i < 1'000'000; ++i) row += "0F0,";
  const auto start = std::chrono::steady_clock::now();
  const Schedule schedule = parse_schedule(row + "0B0\n", "x");
  EXPECT_EQ(verify(schedule).size(), 101u);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST(Generate, RefusesUnknownMethodsAndForeignOptions) {
  const auto error_of_request = [](const ScheduleRequest& request) -> std::string {
    try {
      static_cast<void>(generate(request));
    } catch (const UsageError& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_EQ(error_of_request({.method = "gpip", .ranks = 2, .micro_batches = 2}),
            "unknown schedule \"gpip\"; did you mean \"gpipe\"?");
  EXPECT_EQ(error_of_request({.method = "1f1b", .ranks = 2, .micro_batches = 2, .reverse = true}),
            "1f1b takes no reverse; it is an option of gpipe");
  EXPECT_EQ(error_of_request({.method = "1f1b", .ranks = 2, .micro_batches = 0}),
            "1f1b: micro-batches is 0; expected 1 or more");
}

}  // namespace
}  // namespace headrace
