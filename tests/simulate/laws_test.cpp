// SPDX-License-Identifier: Apache-2.0
//
// The closed forms of the literature, exactly, for all p <= 8 and m <= 16, three cost triples and
// latency 0, 1 and 3. Letters: p ranks, m micro-batches, f i w times of F, I and W, t latency.
#include "headrace/schedule/basic.h"
#include "headrace/schedule/lower.h"
#include "headrace/simulate/simulate.h"
#include "headrace/timeline/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace headrace {
namespace {

struct Case {
  int p;
  int m;
  std::int64_t f;
  std::int64_t i;
  std::int64_t w;
  std::int64_t t;
};

std::vector<Case> all_cases() {
  constexpr std::array<std::array<std::int64_t, 3>, 3> kTriples{{{1, 1, 1}, {3, 2, 4}, {2, 5, 1}}};
  std::vector<Case> cases;
  for (int p = 1; p <= 8; ++p)
    for (int m = 1; m <= 16; ++m)
      for (const auto& [f, i, w] : kTriples)
        for (const std::int64_t t : {0, 1, 3}) cases.push_back({p, m, f, i, w, t});
  return cases;
}

Metrics run(const Schedule& schedule, const Case& c) {
  const auto costs = uniform_costs(schedule.stage_count(), Time(c.f), Time(c.i), Time(c.w));
  return measure(simulate(schedule, costs, uniform_machine(c.p, {Time(c.t), 0})));
}

std::string name(const Case& c) {
  return "p=" + std::to_string(c.p) + " m=" + std::to_string(c.m) + " f=" + std::to_string(c.f) +
         " i=" + std::to_string(c.i) + " w=" + std::to_string(c.w) + " t=" + std::to_string(c.t);
}

TEST(Simulate, NaiveTakesEachMicroBatchThroughAllRanksAndBack) {
  for (const Case& c : all_cases()) {
    const auto metrics = run(naive(c.p, c.m), c);
    EXPECT_EQ(metrics.makespan.count(), c.m * (c.p * (c.f + c.i + c.w) + 2 * (c.p - 1) * c.t))
        << name(c);
    EXPECT_EQ(metrics.peak_live, std::vector<int>(static_cast<std::size_t>(c.p), 1)) << name(c);
  }
}

TEST(Simulate, GPipeFillsAndDrainsOnce) {
  for (const Case& c : all_cases())
    for (const bool reverse : {false, true}) {
      const auto metrics = run(gpipe(c.p, c.m, reverse), c);
      EXPECT_EQ(metrics.makespan.count(), (c.m + c.p - 1) * (c.f + c.i + c.w) + 2 * (c.p - 1) * c.t)
          << name(c);
      EXPECT_EQ(metrics.peak_live, std::vector<int>(static_cast<std::size_t>(c.p), c.m)) << name(c);
    }
}

TEST(Simulate, OneFOneBPaysLatencyInItsSteadyPeriod) {
  for (const Case& c : all_cases()) {
    const auto metrics = run(one_f_one_b(c.p, c.m), c);
    const std::int64_t trips = (c.p - 1) + (c.m - 1) * (c.p - 1) / c.p;
    EXPECT_EQ(metrics.makespan.count(), (c.m + c.p - 1) * (c.f + c.i + c.w) + 2 * c.t * trips)
        << name(c);
    for (int rank = 0; rank < c.p; ++rank)
      EXPECT_EQ(metrics.peak_live[static_cast<std::size_t>(rank)], std::min(c.m, c.p - rank))
          << name(c);
    EXPECT_EQ(metrics.messages, static_cast<std::size_t>(2 * (c.p - 1) * c.m)) << name(c);
  }
}

TEST(Simulate, LoweringChangesNoTime) {
  for (const Case& c : all_cases()) {
    const Schedule schedule = one_f_one_b(c.p, c.m);
    EXPECT_EQ(run(lower(schedule), c).makespan, run(schedule, c).makespan) << name(c);
  }
}

TEST(Simulate, GivesTheValuesOfTheTextbookExample) {
  const auto metrics = run(one_f_one_b(4, 8), {4, 8, 1, 1, 0, 0});
  EXPECT_EQ(metrics.makespan.count(), 22);
  EXPECT_EQ(metrics.span.count(), 22);
  EXPECT_DOUBLE_EQ(metrics.bubble, 3.0 / 11.0);
  EXPECT_DOUBLE_EQ(metrics.bubble_span, 3.0 / 11.0);
}

TEST(Simulate, InFlightLimitsCostWhatDappleSays) {
  constexpr std::array<std::int64_t, 4> kFour{64, 46, 32, 22};
  constexpr std::array<std::int64_t, 8> kEight{256, 214, 176, 142, 112, 86, 64, 46};
  for (int limit = 1; limit <= 4; ++limit)
    EXPECT_EQ(run(one_f_one_b(4, 8, limit), {4, 8, 1, 1, 0, 0}).makespan.count(),
              kFour[static_cast<std::size_t>(limit - 1)]);
  for (int limit = 1; limit <= 8; ++limit)
    EXPECT_EQ(run(one_f_one_b(8, 16, limit), {8, 16, 1, 1, 0, 0}).makespan.count(),
              kEight[static_cast<std::size_t>(limit - 1)]);
}

}  // namespace
}  // namespace headrace
