// SPDX-License-Identifier: Apache-2.0
#include "headrace/execute/rank_threads.h"

#include "headrace/base/error.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <pthread.h>
#include <stdexcept>
#include <thread>
#include <vector>

namespace headrace {
namespace {

TEST(RunRanks, RunsEveryRankOnceInAThreadOfItsOwn) {
  std::vector<std::thread::id> ids(5);
  run_ranks(5, [&](RankId rank) { ids[rank.index()] = std::this_thread::get_id(); });
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_NE(ids[i], std::thread::id());
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(ids[i], ids[j]);
  }
}

TEST(RunRanks, NamesTheThreads) {
  std::vector<std::string> names(3);
  run_ranks(3, [&](RankId rank) {
    char name[16] = {};
    pthread_getname_np(pthread_self(), name, sizeof name);
    names[rank.index()] = name;
  });
  EXPECT_EQ(names, (std::vector<std::string>{"rank 0", "rank 1", "rank 2"}));
}

TEST(RunRanks, ThrowsTheCauseEvenWhenAConsequenceCameFirst) {
  std::atomic<bool> canceled = false;
  try {
    run_ranks(2, [&](RankId rank) {
      if (rank == RankId(0)) {
        canceled = true;
        throw CanceledError("another rank failed");
      }
      while (!canceled) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      throw TransportError("the cause");
    });
    FAIL();
  } catch (const TransportError& error) {
    EXPECT_STREQ(error.what(), "the cause");
  }
}

TEST(RunRanks, ThrowsACancellationWhereThereIsNothingElse) {
  EXPECT_THROW(run_ranks(2, [](RankId) { throw CanceledError("stopped"); }), CanceledError);
}

TEST(RunRanks, CallsOnFailureOnceAndBeforeTheOthersEnd) {
  std::atomic<int> calls = 0;
  std::atomic<bool> stop = false;
  std::string told;
  EXPECT_THROW(run_ranks(
                   4,
                   [&](RankId rank) {
                     if (rank == RankId(2)) throw std::runtime_error("no data");
                     while (!stop) std::this_thread::yield();
                     throw CanceledError("stopped");
                   },
                   [&](const std::string& what) {
                     told = what;
                     ++calls;
                     stop = true;
                   }),
               std::runtime_error);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(told, "no data");
}

TEST(RunRanks, PassesOnWhatIsNotAnException) {
  EXPECT_THROW(run_ranks(3, [](RankId) { throw 7; }), int);
}

TEST(RunRanks, RefusesZeroRanks) {
  EXPECT_THROW(run_ranks(0, [](RankId) {}), UsageError);
}

}  // namespace
}  // namespace headrace
