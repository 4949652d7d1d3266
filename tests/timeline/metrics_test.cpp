// SPDX-License-Identifier: Apache-2.0
#include "headrace/timeline/metrics.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

TimedAction timed(ActionKind kind, int micro_batch, int start, int end, bool overlaps = false) {
  return {{kind, overlaps, 0, StageId(0), MicroBatchId(micro_batch)}, Time(start), Time(end)};
}

// time     0         10        20        30        40
// rank 0   F0F0F0F0F0                    B0B0B0B0B0
// rank 1             F0F0F0F0F0B0B0B0B0B0
Timeline two_ranks() {
  Timeline timeline;
  timeline.ranks.resize(2);
  timeline.ranks[0].actions = {timed(ActionKind::Forward, 0, 0, 10),
                               timed(ActionKind::Backward, 0, 30, 40)};
  timeline.ranks[1].actions = {timed(ActionKind::Forward, 0, 10, 20),
                               timed(ActionKind::Backward, 0, 20, 30)};
  return timeline;
}

TEST(Measure, CountsWorkAgainstMakespanAndSpan) {
  const Metrics metrics = measure(two_ranks());
  EXPECT_EQ(metrics.makespan, Time(40));
  EXPECT_EQ(metrics.span, Time(40));
  EXPECT_EQ(metrics.busy, (std::vector<Time>{Time(20), Time(20)}));
  EXPECT_DOUBLE_EQ(metrics.bubble, 0.5);
  EXPECT_DOUBLE_EQ(metrics.bubble_span, 0.5);
  EXPECT_EQ(metrics.rank_bubble, (std::vector<double>{0.5, 0.5}));
}

// A parallelogram: every rank works without a pause, one after the other begins and ends.
TEST(Measure, SeesNoBubbleInTheSpanOfAParallelogram) {
  Timeline timeline;
  timeline.ranks.resize(2);
  timeline.ranks[0].actions = {timed(ActionKind::Forward, 0, 0, 30)};
  timeline.ranks[1].actions = {timed(ActionKind::Forward, 0, 10, 40)};
  const Metrics metrics = measure(timeline);
  EXPECT_EQ(metrics.makespan, Time(40));
  EXPECT_EQ(metrics.span, Time(30));
  EXPECT_DOUBLE_EQ(metrics.bubble, 0.25);
  EXPECT_DOUBLE_EQ(metrics.bubble_span, 0.0);
}

TEST(Measure, StartsAtTheFirstActionAndNotAtZero) {
  Timeline timeline = two_ranks();
  for (RankTimeline& rank : timeline.ranks)
    for (TimedAction& a : rank.actions) {
      a.start += Time(1000);
      a.end += Time(1000);
    }
  EXPECT_EQ(measure(timeline), measure(two_ranks()));
}

TEST(Measure, CountsAPairOnce) {
  Timeline timeline;
  timeline.ranks.resize(1);
  timeline.ranks[0].actions = {timed(ActionKind::Forward, 1, 0, 30, true),
                               timed(ActionKind::Backward, 0, 0, 30),
                               timed(ActionKind::Backward, 1, 30, 40)};
  EXPECT_EQ(measure(timeline).busy, std::vector<Time>{Time(40)});
  EXPECT_DOUBLE_EQ(measure(timeline).bubble, 0.0);
}

TEST(Measure, DoesNotCallABlockedSendWork) {
  Timeline timeline;
  timeline.ranks.resize(1);
  timeline.ranks[0].actions = {timed(ActionKind::Forward, 0, 0, 10),
                               timed(ActionKind::SendForward, 0, 10, 40)};
  EXPECT_EQ(measure(timeline).busy, std::vector<Time>{Time(10)});
  EXPECT_DOUBLE_EQ(measure(timeline).bubble, 0.75);
}

TEST(Measure, TakesPeaksFromTheRanks) {
  Timeline timeline = two_ranks();
  timeline.ranks[0].peak_live = 3;
  timeline.ranks[0].memory = {{Time(0), Bytes(5)}, {Time(1), Bytes(9)}, {Time(2), Bytes(7)}};
  EXPECT_EQ(measure(timeline).peak_live, (std::vector<int>{3, 0}));
  EXPECT_EQ(measure(timeline).peak_memory, (std::vector<Bytes>{Bytes(9), Bytes(0)}));
}

TEST(Measure, IsZeroForNothing) {
  const Metrics metrics = measure(Timeline{});
  EXPECT_EQ(metrics.makespan, Time(0));
  EXPECT_EQ(metrics.bubble, 0.0);
  EXPECT_EQ(metrics.bubble_span, 0.0);
}

TEST(Compare, SaysHowMuchEachActionIsLaterAndLonger) {
  Timeline measured = two_ranks();
  measured.ranks[1].actions[0].end += Time(2);
  measured.ranks[1].actions[1].start += Time(3);
  measured.ranks[1].actions[1].end += Time(4);
  const Comparison result = compare(two_ranks(), measured);
  EXPECT_EQ(result.first.makespan, Time(40));
  ASSERT_EQ(result.actions.size(), 4u);
  EXPECT_EQ(result.actions[0].start_difference, Time(0));
  EXPECT_EQ(result.actions[2].rank, RankId(1));
  EXPECT_EQ(result.actions[2].duration_difference, Time(2));
  EXPECT_EQ(result.actions[3].action.kind, ActionKind::Backward);
  EXPECT_EQ(result.actions[3].start_difference, Time(3));
  EXPECT_EQ(result.actions[3].duration_difference, Time(1));
  EXPECT_TRUE(result.only_in_first.empty());
  EXPECT_TRUE(result.only_in_second.empty());
}

TEST(Compare, NamesWhatOnlyOneOfThemHas) {
  Timeline second = two_ranks();
  second.ranks[0].actions[1].action.micro_batch = MicroBatchId(7);
  second.ranks.resize(1);
  const Comparison result = compare(two_ranks(), second);
  EXPECT_EQ(result.actions.size(), 1u);
  ASSERT_EQ(result.only_in_first.size(), 3u);
  EXPECT_EQ(result.only_in_first[0].action.kind, ActionKind::Backward);
  ASSERT_EQ(result.only_in_second.size(), 1u);
  EXPECT_EQ(result.only_in_second[0].action.micro_batch, MicroBatchId(7));
}

// One half of a pair in the prediction is the same action when it was measured alone.
TEST(Compare, MatchesAHalfOfAPairWithTheActionAlone) {
  Timeline paired = two_ranks();
  paired.ranks[0].actions[0].action.overlaps_next = true;
  EXPECT_EQ(compare(paired, two_ranks()).actions.size(), 4u);
  EXPECT_TRUE(compare(two_ranks(), paired).only_in_second.empty());
}

}  // namespace
}  // namespace headrace
