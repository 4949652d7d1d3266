// SPDX-License-Identifier: Apache-2.0
//
// What the executor records while it walks.
#include "headrace/execute/executor.h"
#include "headrace/execute/rank_threads.h"
#include "headrace/schedule/basic.h"
#include "headrace/schedule/text_form.h"
#include "headrace/schedule/verify.h"
#include "headrace/transport/in_process.h"
#include "tests/execute/fake_compute.h"

#include <gtest/gtest.h>

#include <thread>

namespace headrace::testing {
namespace {

using std::chrono::milliseconds;

FakeOptions sleeping(RankId rank, milliseconds time) {
  FakeOptions options;
  options.prepare = [=](RankId own, FakeCompute& compute) {
    if (own == rank) compute.before = [=](const Action&) { std::this_thread::sleep_for(time); };
  };
  return options;
}

TEST(RunStepTimeline, DoesNotCountWaitingAsWork) {
  const FakeRun run = run_fake(gpipe(2, 1), sleeping(RankId(0), milliseconds(60)));
  const TimedAction& slow = run.timelines[0][0].actions[0];
  const TimedAction& waited = run.timelines[1][0].actions[0];
  EXPECT_GE(slow.end - slow.start, milliseconds(60));
  EXPECT_GE(waited.start, slow.start + milliseconds(60));
  EXPECT_LT(waited.end - waited.start, milliseconds(60));
}

TEST(RunStepTimeline, HoldsEveryActionInListOrderWithoutOverlap) {
  const Schedule schedule = one_f_one_b(3, 5);
  const FakeRun run = run_fake(schedule);
  for (std::size_t r = 0; r < schedule.ranks.size(); ++r) {
    const auto& actions = run.timelines[r][0].actions;
    ASSERT_EQ(actions.size(), schedule.ranks[r].size());
    for (std::size_t i = 0; i < actions.size(); ++i) {
      EXPECT_EQ(actions[i].action, schedule.ranks[r][i]);
      EXPECT_LE(actions[i].start, actions[i].end);
      if (i > 0) {
        EXPECT_GE(actions[i].start, actions[i - 1].end);
      }
    }
  }
}

TEST(RunStepTimeline, GivesAPairOneStartAndOneEnd) {
  const Schedule schedule = parse_schedule(
      "headrace-schedule 1\nname pair\nmicro-batches 2\nplace 0\n"
      "rank 0: 0F0 (0F1;0B0)OVERLAP_F_B 0B1\n",
      "pair");
  ASSERT_TRUE(verify(schedule).empty());
  const FakeRun run = run_fake(schedule, sleeping(RankId(0), milliseconds(5)));
  const auto& actions = run.timelines[0][0].actions;
  ASSERT_EQ(actions.size(), 4u);
  EXPECT_EQ(actions[1].start, actions[2].start);
  EXPECT_EQ(actions[1].end, actions[2].end);
  EXPECT_GE(actions[1].end - actions[1].start, milliseconds(10));
  EXPECT_GE(actions[3].start, actions[2].end);
  EXPECT_EQ(run.timelines[0][0].peak_live, 2);
}

TEST(RunStepTimeline, FollowsMemoryDownToZero) {
  FakeOptions options;
  options.prepare = [](RankId, FakeCompute& compute) { compute.bytes_per_kept = 100; };
  const FakeRun run = run_fake(gpipe(1, 3), options);
  std::vector<std::int64_t> held;
  for (const MemoryPoint& point : run.timelines[0][0].memory) held.push_back(point.held.value);
  EXPECT_EQ(held, (std::vector<std::int64_t>{100, 200, 300, 200, 100, 0}));
  const auto& actions = run.timelines[0][0].actions;
  for (std::size_t i = 0; i < actions.size(); ++i)
    EXPECT_EQ(run.timelines[0][0].memory[i].at, actions[i].end);
}

TEST(RunStepTimeline, HasNoMemoryWhereNoneIsCounted) {
  EXPECT_TRUE(run_fake(gpipe(1, 3)).timelines[0][0].memory.empty());
}

// A compute that can do the other kinds: they run in their place and are recorded.
class Versatile : public FakeCompute {
 public:
  using FakeCompute::FakeCompute;
  [[nodiscard]] bool supports(ActionKind) const override { return true; }
  void recompute(const Action& action) override { calls.push_back(to_text(action)); }
  void evict(const Action& action) override { calls.push_back(to_text(action)); }
  void load(const Action& action) override { calls.push_back(to_text(action)); }
  void reduce_grad(const Action& action) override { calls.push_back(to_text(action)); }
  void update(const Action& action) override { calls.push_back(to_text(action)); }
  std::vector<std::string> calls;
};

TEST(RunStepTimeline, RunsTheOtherKindsInTheirPlace) {
  Schedule schedule = gpipe(1, 1);
  const auto other = [](ActionKind kind, int k) {
    return Action{kind, false, 0, StageId(0), MicroBatchId(k)};
  };
  schedule.ranks[0] = {other(ActionKind::Forward, 0),  other(ActionKind::Evict, 0),
                       other(ActionKind::Load, 0),     other(ActionKind::Recompute, 0),
                       other(ActionKind::Backward, 0), other(ActionKind::ReduceGrad, -1),
                       other(ActionKind::Update, -1)};
  const auto endpoints = in_process_endpoints(1);
  Versatile compute(1, 1);
  const RankTimeline timeline = run_step(schedule, compute, *endpoints[0],
                                         {0, std::chrono::steady_clock::now(), milliseconds(100)});
  EXPECT_EQ(compute.calls, (std::vector<std::string>{"0EVICT0", "0LOAD0", "0RECOMPUTE0",
                                                     "0REDUCE_GRAD", "0UPDATE"}));
  EXPECT_EQ(timeline.actions.size(), 7u);
  EXPECT_EQ(timeline.peak_live, 1);
}

TEST(StageCompute, RefusesTheOtherKindsUnlessTheyAreOverridden) {
  FakeCompute compute(1, 1);
  const Action action{ActionKind::Evict, false, 0, StageId(2), MicroBatchId(3)};
  EXPECT_FALSE(compute.supports(ActionKind::Evict));
  EXPECT_TRUE(compute.supports(ActionKind::WeightGrad));
  try {
    compute.evict(action);
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_STREQ(error.what(), "this compute cannot run 2EVICT3; use a schedule without EVICT.");
  }
}

}  // namespace
}  // namespace headrace::testing
