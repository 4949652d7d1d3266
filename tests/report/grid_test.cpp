// SPDX-License-Identifier: Apache-2.0
#include "headrace/report/grid.h"

#include "headrace/cost/machine.h"
#include "headrace/schedule/basic.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace headrace {
namespace {

TEST(DrawSchedule, DrawsThePicturesOfTheBasicMethods) {
  EXPECT_EQ(draw_schedule(gpipe(3, 4)),
            "time     0  1  2  3  4  5  6  7  8  9  10 11\n"
            "rank 0   F0 F1 F2 F3 .  .  .  .  B0 B1 B2 B3\n"
            "rank 1   .  F0 F1 F2 F3 .  .  B0 B1 B2 B3 .\n"
            "rank 2   .  .  F0 F1 F2 F3 B0 B1 B2 B3 .  .\n");
  EXPECT_EQ(draw_schedule(naive(3, 4), {100, false}),
            "time     0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15 16 17 18 19 20 21 22 23\n"
            "rank 0   F0 .  .  .  .  B0 F1 .  .  .  .  B1 F2 .  .  .  .  B2 F3 .  .  .  .  B3\n"
            "rank 1   .  F0 .  .  B0 .  .  F1 .  .  B1 .  .  F2 .  .  B2 .  .  F3 .  .  B3 .\n"
            "rank 2   .  .  F0 B0 .  .  .  .  F1 B1 .  .  .  .  F2 B2 .  .  .  .  F3 B3 .  .\n");
}

// The picture of 1F1B that its generator begins with.
TEST(DrawSchedule, DrawsThePictureOfOneFOneB) {
  EXPECT_EQ(draw_schedule(one_f_one_b(3, 4)),
            "time     0  1  2  3  4  5  6  7  8  9  10 11\n"
            "rank 0   F0 F1 F2 .  .  B0 F3 B1 .  B2 .  B3\n"
            "rank 1   .  F0 F1 .  B0 F2 B1 F3 B2 .  B3 .\n"
            "rank 2   .  .  F0 B0 F1 B1 F2 B2 F3 B3 .  .\n");
}

// Pictures in comments grow old; these are held against the program.
TEST(DrawSchedule, AgreesWithThePicturesInTheSource) {
  std::ifstream file(std::string(HEADRACE_SOURCE_DIR) + "/headrace/schedule/basic.cpp");
  std::ostringstream source;
  source << file.rdbuf();
  for (const Schedule& schedule : {naive(3, 4), gpipe(3, 4), one_f_one_b(3, 4)}) {
    std::istringstream drawn(draw_schedule(schedule, {100, false}));
    std::string commented;
    for (std::string line; std::getline(drawn, line);) commented += "//   " + line + "\n";
    EXPECT_NE(source.str().find(commented), std::string::npos) << commented;
  }
}

TEST(DrawSchedule, CutsWidePicturesIntoBlocksThatFit) {
  const std::string drawn = draw_schedule(one_f_one_b(2, 30), {60, false});
  std::size_t begin = 0;
  int rulers = 0;
  for (std::size_t end = 0; (end = drawn.find('\n', begin)) != std::string::npos; begin = end + 1) {
    EXPECT_LE(end - begin, 60u);
    rulers += drawn.compare(begin, 4, "time") == 0 ? 1 : 0;
  }
  EXPECT_EQ(rulers, 6);  // 62 slots of 4 columns, 12 to a block
}

TEST(DrawSchedule, NamesTheStageOnlyWhereARankHoldsSeveral) {
  Schedule schedule;
  schedule.micro_batches = 1;
  schedule.copies = {{RankId(0), RankId(0)}};
  schedule.ranks.resize(1);
  for (const int stage : {0, 1})
    schedule.ranks[0].push_back({ActionKind::Forward, false, 0, StageId(stage), MicroBatchId(0)});
  EXPECT_EQ(draw_schedule(schedule), "time     0   1\nrank 0   0F0 1F0\n");
}

// Two ranks, F 10 and B 20 on the first, half of that on the second, each action a whole column.
TEST(DrawTimeline, IsToScaleAndEndsEachRowWithItsBubble) {
  Timeline timeline;
  timeline.ranks.resize(2);
  const auto add = [&](std::size_t rank, ActionKind kind, int start, int end) {
    timeline.ranks[rank].actions.push_back(
        {{kind, false, 0, StageId(0), MicroBatchId(0)}, Time(start), Time(end)});
  };
  add(0, ActionKind::Forward, 0, 10);
  add(0, ActionKind::Backward, 20, 40);
  add(1, ActionKind::InputGrad, 10, 15);
  add(1, ActionKind::WeightGrad, 15, 20);
  EXPECT_EQ(draw_timeline(timeline, {62, false}),
            "rank 0  FFFFFFFFFF..........BBBBBBBBBBBBBBBBBBBB  bubble 25.0%\n"
            "rank 1  ..........IIIIIWWWWW....................  bubble 75.0%\n"
            "        0                                  40 ns\n");
}

TEST(Draw, UsesColorOnlyWhenAsked) {
  EXPECT_EQ(draw_schedule(naive(1, 1)).find('\x1b'), std::string::npos);
  EXPECT_NE(draw_schedule(naive(1, 1), {80, true}).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace headrace
