// SPDX-License-Identifier: Apache-2.0
//
// The executor gives what a sequential walk gives, for any list that verifies.
#include "headrace/execute/executor.h"

#include "headrace/base/random.h"
#include "headrace/schedule/generate.h"
#include "headrace/schedule/lower.h"
#include "headrace/schedule/peak.h"
#include "headrace/schedule/text_form.h"
#include "headrace/schedule/verify.h"
#include "tests/execute/fake_compute.h"
#include "tests/execute/random_schedule.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace headrace::testing {
namespace {

using std::chrono::microseconds;

// Runs `schedule` and compares all that it gives with the sequential walk.
void expect_sequential_result(const Schedule& schedule, FakeOptions options = {}) {
  const auto violations = verify(schedule);
  ASSERT_TRUE(violations.empty()) << violations.front().message;
  const FakeRun run = run_fake(schedule, options);
  EXPECT_EQ(run.result, sequential_result(schedule, options.steps)) << to_text(schedule);
  EXPECT_EQ(run.kept, 0u) << to_text(schedule);
  const std::vector<int> peaks = peak_live(schedule);
  for (std::size_t r = 0; r < run.timelines.size(); ++r)
    for (const RankTimeline& timeline : run.timelines[r])
      EXPECT_EQ(timeline.peak_live, peaks[r]) << "rank " << r << " of\n" << to_text(schedule);
}

Schedule make(const std::string& method, int ranks, int micro_batches) {
  ScheduleRequest request;
  request.method = method;
  request.ranks = ranks;
  request.micro_batches = micro_batches;
  return generate(request);
}

TEST(RunStep, EqualsTheSequentialWalkForEveryGeneratedSchedule) {
  FakeOptions options;
  options.steps = 2;
  for (const char* method : {"naive", "gpipe", "1f1b"})
    for (int ranks = 1; ranks <= 8; ++ranks)
      for (int micro_batches = 1; micro_batches <= 17; ++micro_batches) {
        SCOPED_TRACE(std::string(method) + ", ranks " + std::to_string(ranks));
        expect_sequential_result(make(method, ranks, micro_batches), options);
      }
}

TEST(RunStep, SkipsTheSendsAndReceivesOfALoweredList) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    const Schedule schedule = lower(make("1f1b", ranks, 5));
    expect_sequential_result(schedule);
    const FakeRun run = run_fake(schedule);
    const Schedule plain = without_transfers(schedule);
    for (std::size_t r = 0; r < plain.ranks.size(); ++r) {
      std::vector<Action> executed;
      for (const TimedAction& timed : run.timelines[r][0].actions) executed.push_back(timed.action);
      EXPECT_EQ(executed, plain.ranks[r]);
    }
  }
}

struct WrittenCase {
  const char* idea;
  const char* text;
};

const std::vector<WrittenCase> kWritten = {
    {"interleaved: two stages per rank, looped",
     "headrace-schedule 1\nname looped\nmicro-batches 2\nplace 0 1 0 1\n"
     "rank 0: 0F0 0F1 2F0 2F1 2B0 2B1 0B0 0B1\n"
     "rank 1: 1F0 1F1 3F0 3B0 3F1 3B1 1B0 1B1\n"},
    {"a V: neighbours on one rank at the turn",
     "headrace-schedule 1\nname v\nmicro-batches 2\nplace 0 1 1 0\n"
     "rank 0: 0F0 0F1 3F0 3B0 3F1 3B1 0B0 0B1\n"
     "rank 1: 1F0 2F0 1F1 2F1 2B0 1B0 2B1 1B1\n"},
    {"uneven: ranks with three stages and with two",
     "headrace-schedule 1\nname uneven\nmicro-batches 1\nplace 0 0 1 1 0\n"
     "rank 0: 0F0 1F0 4F0 4B0 1B0 0B0\n"
     "rank 1: 2F0 3F0 3B0 2B0\n"},
    {"split backward, weights at the end",
     "headrace-schedule 1\nname split\nmicro-batches 2\nplace 0 1\n"
     "rank 0: 0F0 0F1 0I0 0I1 0W1 0W0\n"
     "rank 1: 1F0 1I0 1F1 1I1 1W0 1W1\n"},
    {"split on one rank, whole on the other",
     "headrace-schedule 1\nname mixed\nmicro-batches 2\nplace 0 1\n"
     "rank 0: 0F0 0F1 0B0 0B1\n"
     "rank 1: 1F0 1I0 1F1 1W0 1I1 1W1\n"},
    {"overlapped pairs",
     "headrace-schedule 1\nname pairs\nmicro-batches 3\nplace 0 1\n"
     "rank 0: 0F0 0F1 (0F2;0B0)OVERLAP_F_B 0B1 0B2\n"
     "rank 1: 1F0 (1F1;1B0)OVERLAP_F_B (1B1;1F2)OVERLAP_F_B 1B2\n"},
    {"sequence slices",
     "headrace-schedule 1\nname slices\nmicro-batches 2\nslices 2\nplace 0 1\n"
     "rank 0: 0F0.0 0F0.1 0F1.0 0F1.1 0B0.1 0B0.0 0B1.1 0B1.0\n"
     "rank 1: 1F0.0 1F0.1 1B0.1 1B0.0 1F1.0 1F1.1 1B1.1 1B1.0\n"},
    {"two copies, one in each direction",
     "headrace-schedule 1\nname bidirectional\nmicro-batches 2\nplace 0 1\nplace 1 0\nflow 0 1\n"
     "rank 0: 0F0 1F1 1B1 0B0\n"
     "rank 1: 0F1 1F0 1B0 0B1\n"},
    {"forward only",
     "headrace-schedule 1\nname forward\nmicro-batches 3\nplace 0 1 0\n"
     "rank 0: 0F0 0F1 2F0 0F2 2F1 2F2\n"
     "rank 1: 1F0 1F1 1F2\n"},
    {"one micro-batch on more ranks than micro-batches",
     "headrace-schedule 1\nname short\nmicro-batches 1\nplace 0 1 2\n"
     "rank 0: 0F0 0B0\nrank 1: 1F0 1B0\nrank 2: 2F0 2B0\n"},
};

TEST(RunStep, EqualsTheSequentialWalkForSchedulesWrittenByHand) {
  FakeOptions options;
  options.steps = 3;
  for (const WrittenCase& written : kWritten) {
    SCOPED_TRACE(written.idea);
    expect_sequential_result(parse_schedule(written.text, written.idea), options);
  }
}

TEST(RunStep, EqualsTheSequentialWalkForRandomSchedules) {
  FakeOptions options;
  options.steps = 2;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_sequential_result(random_schedule(seed), options);
  }
}

// The fast rank is up to two steps ahead of the slow one here; only the step in the names tells
// their messages apart.
TEST(RunStep, EqualsTheSequentialWalkWhateverTheTimes) {
  FakeOptions options;
  options.steps = 3;
  for (std::uint64_t seed = 1000; seed < 1030; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    options.prepare = [seed](RankId rank, FakeCompute& compute) {
      compute.before = [seed, rank, n = 0u](const Action&) mutable {
        const RandomCounter at{static_cast<std::uint32_t>(rank.value), n++, 0, 0};
        std::this_thread::sleep_for(microseconds(random_below(seed, at, 150)));
      };
    };
    expect_sequential_result(random_schedule(seed), options);
    expect_sequential_result(make("1f1b", 1 + static_cast<int>(seed % 4), 6), options);
  }
}

TEST(RunStep, PassesAnAbsentGradientOnAsUndefinedBuffers) {
  // Stage 3 takes three values from stage 2, and returns no gradient at all.
  const Schedule schedule = make("gpipe", 4, 2);
  FakeOptions options;
  options.prepare = [](RankId, FakeCompute& compute) {
    compute.has_no_gradient = [](const Action& action) { return action.stage == StageId(3); };
  };
  // The fake checks that stage 2 gets as many gradients as it has outputs.
  const FakeRun run = run_fake(schedule, options);
  EXPECT_EQ(run.kept, 0u);
  EXPECT_NE(run.result, sequential_result(schedule, 1)) << "the gradient was not dropped";
}

}  // namespace
}  // namespace headrace::testing
