// SPDX-License-Identifier: Apache-2.0
//
// One rank fails: all end at once, and one error says who, where and why.
#include "headrace/base/error.h"
#include "headrace/execute/executor.h"
#include "headrace/execute/rank_threads.h"
#include "headrace/schedule/basic.h"
#include "headrace/schedule/text_form.h"
#include "headrace/transport/in_process.h"
#include "tests/execute/fake_compute.h"
#include "tests/execute/random_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>
#include <thread>

namespace headrace::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Options under which `thrower()` is called instead of action number `position` of `rank`, counted
// over compute actions.
FakeOptions throwing_at(RankId rank, std::size_t position, std::function<void()> thrower) {
  FakeOptions options;
  options.prepare = [=](RankId own, FakeCompute& compute) {
    if (own != rank) return;
    compute.before = [=, n = std::size_t{0}](const Action&) mutable {
      if (n++ == position) thrower();
    };
  };
  return options;
}

template <class ErrorType>
std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const ErrorType& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

void throw_runtime_error() {
  throw std::runtime_error("matrix sizes differ: 3 and 4");
}

void expect_one_root_cause(const Schedule& schedule, RankId rank, std::size_t position) {
  const auto options = throwing_at(rank, position, throw_runtime_error);
  const auto started = Clock::now();
  const std::string message = message_of<ComputeError>([&] { (void)run_fake(schedule, options); });
  EXPECT_LT(Clock::now() - started, seconds(1));
  const Action& action = schedule.ranks[rank.index()][position];
  const bool slices = schedule.slices > 1;
  const std::string expected = fmt::format(
      "rank {}, action {} ({}): stage {}, micro-batch {}{}: matrix sizes differ: 3 and 4",
      rank.value, position, to_text(action, slices), action.stage.value, action.micro_batch.value,
      slices ? fmt::format(", slice {}", action.slice) : "");
  EXPECT_EQ(message, expected);
}

TEST(RunStep, EndsAllRanksWhereverAComputeThrows) {
  std::vector<Schedule> schedules = {naive(3, 2), gpipe(4, 3), one_f_one_b(4, 6),
                                     one_f_one_b(1, 2)};
  for (std::uint64_t seed = 500; seed < 510; ++seed) schedules.push_back(random_schedule(seed));
  for (const Schedule& schedule : schedules)
    for (std::size_t r = 0; r < schedule.ranks.size(); ++r)
      for (std::size_t i = 0; i < schedule.ranks[r].size(); ++i)
        expect_one_root_cause(schedule, RankId(static_cast<int>(r)), i);
}

TEST(RunStep, SaysWhereMemoryRanOut) {
  const auto options = throwing_at(RankId(1), 1, [] { throw std::bad_alloc(); });
  EXPECT_EQ(message_of<ComputeError>([&] { (void)run_fake(gpipe(2, 2), options); }),
            "rank 1, action 1 (1F1): stage 1, micro-batch 1: out of memory (std::bad_alloc)");
}

TEST(RunStep, CatchesWhatIsNotAnException) {
  const auto options = throwing_at(RankId(0), 3, [] { throw 42; });
  EXPECT_EQ(message_of<ComputeError>([&] { (void)run_fake(gpipe(2, 2), options); }),
            "rank 0, action 3 (0B1): stage 0, micro-batch 1: threw something that is not a "
            "std::exception");
}

// Two ranks that fail at the same time: one of the two is told, never a mixture or none.
TEST(RunStep, ReportsOneOfSeveralRootCauses) {
  FakeOptions options;
  options.prepare = [](RankId, FakeCompute& compute) {
    compute.before = [](const Action& action) {
      if (action.micro_batch == MicroBatchId(1)) throw_runtime_error();
    };
  };
  for (int round = 0; round < 50; ++round)
    EXPECT_THAT(message_of<ComputeError>([&] { (void)run_fake(one_f_one_b(4, 4), options); }),
                HasSubstr("micro-batch 1: matrix sizes differ: 3 and 4"));
}

TEST(RunStep, TellsTheOtherRanksWhoFailedFirst) {
  const auto endpoints = in_process_endpoints(2);
  std::string told;
  const Schedule schedule = gpipe(2, 1);
  EXPECT_THROW(run_ranks(2,
                         [&](RankId rank) {
                           FakeCompute compute(2, 1);
                           if (rank == RankId(0))
                             compute.before = [](const Action&) { throw_runtime_error(); };
                           try {
                             (void)run_step(schedule, compute, *endpoints[rank.index()],
                                            {0, Clock::now(), seconds(30)});
                           } catch (const CanceledError& error) {
                             told = error.what();
                             throw;
                           }
                         }),
               ComputeError);
  EXPECT_EQ(told, "rank 0, action 0 (0F0): stage 0, micro-batch 0: matrix sizes differ: 3 and 4");
}

// Rank 1 is stuck. Rank 2 may notice first, but rank 1 is the one to look at.
TEST(RunStep, NamesTheSilentRankWhenAWaitPassesItsDeadline) {
  FakeOptions options;
  options.timeout = milliseconds(150);
  options.prepare = [](RankId rank, FakeCompute& compute) {
    if (rank != RankId(1)) return;
    compute.before = [](const Action& action) {
      if (action.micro_batch == MicroBatchId(2)) std::this_thread::sleep_for(milliseconds(600));
    };
  };
  const auto started = Clock::now();
  const std::string message =
      message_of<TransportError>([&] { (void)run_fake(gpipe(4, 4), options); });
  EXPECT_LT(Clock::now() - started, milliseconds(1500));
  EXPECT_THAT(message, HasSubstr("no word from rank "));
  EXPECT_THAT(message, HasSubstr("Check that rank 1 is running, or raise --timeout."));
  EXPECT_THAT(message, HasSubstr("1SEND_"));
}

TEST(RunStep, WaitsForEverWhereTheTimeoutIsTheLongestThereIs) {
  FakeOptions options;
  options.timeout = std::chrono::nanoseconds::max();
  options.prepare = [](RankId rank, FakeCompute& compute) {
    if (rank != RankId(0)) return;
    compute.before = [](const Action&) { std::this_thread::sleep_for(milliseconds(5)); };
  };
  EXPECT_EQ(run_fake(gpipe(2, 1), options).result, sequential_result(gpipe(2, 1), 1));
}

TEST(RunStep, WordsALateMessageAsAgreed) {
  const auto endpoints = in_process_endpoints(2);
  FakeCompute compute(2, 1);
  const std::string message = message_of<TransportError>([&] {
    (void)run_step(gpipe(2, 1), compute, *endpoints[1], {7, Clock::now(), milliseconds(50)});
  });
  EXPECT_THAT(message, ContainsRegex("^rank 1: no word from rank 0 for 0\\.[0-9]+ s, while"));
  EXPECT_THAT(message, HasSubstr("while waiting for 0SEND_F0 (step 7). Last heard: nothing so "
                                 "far. Check that rank 0 is running, or raise --timeout."));
}

TEST(RunStep, SaysWhichGradientIsLate) {
  const auto endpoints = in_process_endpoints(2);
  FakeCompute compute(2, 1);
  const std::string message = message_of<TransportError>([&] {
    (void)run_step(gpipe(2, 1), compute, *endpoints[0], {0, Clock::now(), milliseconds(20)});
  });
  EXPECT_THAT(message, HasSubstr("while waiting for 1SEND_B0 (step 0). Last heard: nothing"));
}

TEST(RunStep, AbortsTheOthersAfterATimeout) {
  const auto endpoints = in_process_endpoints(2);
  FakeCompute compute(2, 1);
  EXPECT_THROW(
      (void)run_step(gpipe(2, 1), compute, *endpoints[1], {0, Clock::now(), milliseconds(1)}),
      TransportError);
  EXPECT_THROW(endpoints[0]->send(RankId(1), {}), CanceledError);
}

// The last stage has all its weight gradients still to do, and needs nobody for them.
TEST(RunStep, EndsARankThatComputesWithoutMessages) {
  const Schedule schedule = parse_schedule(
      "headrace-schedule 1\nname tail\nmicro-batches 4\nplace 0 1\n"
      "rank 0: 0F0 0F1 0F2 0F3 0B0 0B1 0B2 0B3\n"
      "rank 1: 1F0 1F1 1F2 1F3 1I0 1I1 1I2 1I3 1W0 1W1 1W2 1W3\n",
      "tail");
  int weights = 0;
  FakeOptions options;
  options.prepare = [&weights](RankId rank, FakeCompute& compute) {
    compute.before = [&weights, rank](const Action& action) {
      if (rank == RankId(0) && action.kind == ActionKind::Backward) throw_runtime_error();
      if (action.kind != ActionKind::WeightGrad) return;
      ++weights;
      std::this_thread::sleep_for(milliseconds(400));
    };
  };
  EXPECT_THROW((void)run_fake(schedule, options), ComputeError);
  EXPECT_LE(weights, 1);
}

TEST(RunStep, LeavesACancellationOfTheComputeAsItIs) {
  const auto options =
      throwing_at(RankId(0), 1, [] { throw CanceledError("stopped by the user"); });
  EXPECT_EQ(message_of<CanceledError>([&] { (void)run_fake(gpipe(2, 2), options); }),
            "stopped by the user");
}

TEST(RunStep, RefusesActionsThatTheComputeCannotRunBeforeTheFirstRuns) {
  Schedule schedule = gpipe(2, 1);
  schedule.ranks[1].insert(schedule.ranks[1].begin() + 1,
                           Action{ActionKind::Recompute, false, 0, StageId(1), MicroBatchId(0)});
  schedule.ranks[1].push_back(Action{ActionKind::Update, false, 0, StageId(1), MicroBatchId()});
  int ran = 0;
  FakeOptions options;
  options.prepare = [&ran](RankId rank, FakeCompute& compute) {
    if (rank == RankId(1)) compute.before = [&ran](const Action&) { ++ran; };
  };
  EXPECT_EQ(message_of<UsageError>([&] { (void)run_fake(schedule, options); }),
            "rank 1, action 1 (1RECOMPUTE0): stage 1, micro-batch 0: this compute cannot run "
            "RECOMPUTE. Use a schedule without it.");
  EXPECT_EQ(ran, 0);
}

TEST(RunStep, RefusesAScheduleOfAnotherNumberOfRanks) {
  const auto endpoints = in_process_endpoints(3);
  FakeCompute compute(2, 1);
  EXPECT_EQ(message_of<UsageError>([&] {
              (void)run_step(gpipe(2, 1), compute, *endpoints[0], {0, Clock::now(), seconds(1)});
            }),
            "the schedule has 2 ranks, and the run has 3; make them equal.");
}

// A compute that breaks the contract of the boundary is found where it does so.
class Careless : public FakeCompute {
 public:
  using FakeCompute::FakeCompute;
  Values forward(const Action& action, Values input) override {
    Values output = FakeCompute::forward(action, std::move(input));
    if (extra_output && output.empty()) output.emplace_back();
    return output;
  }
  Values backward(const Action& action, Values output_grad) override {
    Values grads = FakeCompute::backward(action, std::move(output_grad));
    if (extra_gradient) grads.emplace_back();
    return grads;
  }
  bool extra_output = false;
  bool extra_gradient = false;
};

std::string run_careless(const std::function<void(Careless&)>& prepare) {
  const auto endpoints = in_process_endpoints(2);
  return message_of<ComputeError>([&] {
    run_ranks(2, [&](RankId rank) {
      Careless compute(2, 1);
      prepare(compute);
      (void)run_step(gpipe(2, 1), compute, *endpoints[rank.index()],
                     {0, Clock::now(), seconds(30)});
    });
  });
}

TEST(RunStep, FindsAGradientTooMany) {
  EXPECT_EQ(
      run_careless([](Careless& compute) { compute.extra_gradient = true; }),
      "rank 1, action 1 (1B0): stage 1, micro-batch 0: the backward returned 2 gradients, and "
      "the stage has 1 inputs");
}

TEST(RunStep, FindsAnOutputOfTheLastStage) {
  EXPECT_EQ(
      run_careless([](Careless& compute) { compute.extra_output = true; }),
      "rank 1, action 0 (1F0): stage 1, micro-batch 0: the forward of the last stage returned "
      "1 values, and no stage comes after it");
}

}  // namespace
}  // namespace headrace::testing
