// SPDX-License-Identifier: Apache-2.0
//
// simulate() against a slow and obvious twin: start times are raised again and again until no rule
// is broken, which gives the earliest times.
#include "headrace/simulate/simulate.h"

#include "headrace/schedule/basic.h"
#include "headrace/schedule/lower.h"
#include "headrace/schedule/text_form.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace headrace {
namespace {

using Random = std::mt19937;

std::int64_t duration_of(const Action& a, const StageCosts& costs) {
  const StageCost& stage = costs.stages[a.stage.index()];
  switch (a.kind) {
    case ActionKind::Forward:
      return stage.forward.count();
    case ActionKind::InputGrad:
      return stage.input_grad.count();
    case ActionKind::WeightGrad:
      return stage.weight_grad.count();
    default:
      return (stage.input_grad + stage.weight_grad).count();
  }
}

class Relaxation {
 public:
  Relaxation(const Schedule& schedule, const StageCosts& costs, const Machine& machine)
      : schedule_(schedule), costs_(costs), machine_(machine) {
    for (const auto& list : schedule.ranks)
      for (const Action& a : list) start_[to_text(a)] = 0;
  }

  std::map<std::string, std::int64_t> run() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& list : schedule_.ranks) {
        std::int64_t free = 0;
        for (const Action& a : list) {
          std::int64_t& start = start_[to_text(a)];
          const std::int64_t earliest = std::max({start, free, inputs(a)});
          changed = changed || earliest != start;
          start = earliest;
          free = start + duration_of(a, costs_);
        }
      }
    }
    return start_;
  }

 private:
  std::int64_t end_of(const std::string& name, const Action& a) const {
    const auto found = start_.find(name);
    return found == start_.end() ? -1 : found->second + duration_of(a, costs_);
  }

  std::int64_t from(int stage, ActionKind kind, const Action& reader, Bytes size) const {
    const Action maker{kind, false, 0, StageId(stage), reader.micro_batch};
    const std::int64_t end = end_of(to_text(maker), maker);
    const RankId there = schedule_.rank_of(StageId(stage), reader.micro_batch);
    const RankId here = schedule_.rank_of(reader.stage, reader.micro_batch);
    if (end < 0 || there == here) return end;
    return end + transfer_time(machine_.link_between(there, here), size).count();
  }

  std::int64_t inputs(const Action& a) const {
    const int s = a.stage.value;
    std::int64_t at = 0;
    const auto after = [&](int stage, ActionKind kind, Bytes size) {
      at = std::max(at, from(stage, kind, a, size));
    };
    if (a.kind == ActionKind::Forward && s > 0)
      after(s - 1, ActionKind::Forward, costs_.stages[a.stage.index() - 1].output);
    if (a.kind == ActionKind::Backward || a.kind == ActionKind::InputGrad) {
      after(s, ActionKind::Forward, Bytes(0));
      if (s + 1 < schedule_.stage_count()) {
        after(s + 1, ActionKind::Backward, costs_.stages[a.stage.index()].output);
        after(s + 1, ActionKind::InputGrad, costs_.stages[a.stage.index()].output);
      }
    }
    if (a.kind == ActionKind::WeightGrad) after(s, ActionKind::InputGrad, Bytes(0));
    return at;
  }

  const Schedule& schedule_;
  const StageCosts& costs_;
  const Machine& machine_;
  std::map<std::string, std::int64_t> start_;
};

StageCosts random_costs(int stages, Random& random) {
  StageCosts costs = uniform_costs(stages, Time(0), Time(0), Time(0));
  for (StageCost& stage : costs.stages) {
    stage.forward = Time(random() % 50);
    stage.input_grad = Time(random() % 50);
    stage.weight_grad = Time(random() % 50);
    stage.output = Bytes(random() % 1000);
  }
  return costs;
}

Schedule random_schedule(Random& random) {
  const int p = 1 + static_cast<int>(random() % 5);
  const int m = 1 + static_cast<int>(random() % 6);
  switch (random() % 4) {
    case 0:
      return gpipe(p, m, random() % 2 == 0);
    case 1:
      return naive(p, m);
    case 2:
      return one_f_one_b(p, m, static_cast<int>(random() % 4));
    default:
      return parse_schedule(
          "headrace-schedule 1\nname by-hand\nmicro-batches 2\nplace 0 1 0 1\n"
          "rank 0: 0F0 0F1 2F0 2F1 2I0 2W0 2I1 0I0 2W1 0W0 0I1 0W1\n"
          "rank 1: 1F0 1F1 3F0 3I0 3F1 3I1 3W0 1I0 3W1 1I1 1W0 1W1\n",
          "by-hand");
  }
}

TEST(Simulate, AgreesWithRelaxationOnTenThousandRandomCases) {
  constexpr unsigned kSeed = 7;
  std::printf("seed %u\n", kSeed);
  Random random(kSeed);
  for (int i = 0; i < 10'000; ++i) {
    const Schedule schedule = random_schedule(random);
    const StageCosts costs = random_costs(schedule.stage_count(), random);
    Machine machine = uniform_machine(schedule.rank_count());
    machine.link = {Time(random() % 30), static_cast<std::int64_t>(random() % 3) * 20'000'000'000};
    if (random() % 2 == 0) machine.links[{RankId(0), RankId(1)}] = {Time(random() % 90), 0};
    const auto expected = Relaxation(schedule, costs, machine).run();
    const Timeline timeline =
        simulate(random() % 2 == 0 ? schedule : lower(schedule), costs, machine);
    for (const RankTimeline& rank : timeline.ranks)
      for (const TimedAction& timed : rank.actions) {
        ASSERT_EQ(timed.start.count(), expected.at(to_text(timed.action)))
            << i << ": " << to_text(timed.action) << "\n"
            << to_text(schedule);
        ASSERT_EQ((timed.end - timed.start).count(), duration_of(timed.action, costs));
      }
  }
}

// A link of 1 byte per ns and 5 ns latency; two messages of 100 bytes made 10 ns apart.
TEST(Simulate, ContendingMessagesWaitForTheLink) {
  StageCosts costs = uniform_costs(2, Time(10), Time(10), Time(0));
  costs.stages[0].output = Bytes(100);
  Machine machine = uniform_machine(2, {Time(5), 1'000'000'000});
  const auto arrivals = [&] {
    std::vector<std::int64_t> at;
    for (const TimedMessage& m : simulate(gpipe(2, 2), costs, machine).messages)
      if (m.send.kind == ActionKind::SendForward) at.push_back(m.arrived.count());
    return at;
  };
  EXPECT_EQ(arrivals(), (std::vector<std::int64_t>{115, 125}));
  machine.links_contend = true;
  EXPECT_EQ(arrivals(), (std::vector<std::int64_t>{115, 215}));
}

// p = 2, m = 2, every action 10, every transfer 5; with blocking sends both ends are held.
TEST(Simulate, BlockingSendsHoldBothRanks) {
  const Schedule lowered = lower(one_f_one_b(2, 1));
  Machine machine = uniform_machine(2, {Time(5), 0});
  machine.sends_block = true;
  const Timeline timeline =
      simulate(lowered, uniform_costs(2, Time(10), Time(10), Time(0)), machine);
  // rank 0: F 0-10, send 10-15, receive 15-40 (waits for B of rank 1), B 40-50.
  EXPECT_EQ(timeline.ranks[0].actions[1].end, Time(15));
  EXPECT_EQ(timeline.ranks[0].actions[2].start, Time(15));
  EXPECT_EQ(timeline.ranks[0].actions[2].end, Time(40));
  EXPECT_EQ(timeline.ranks[0].actions[3].end, Time(50));
}

TEST(Simulate, FollowsMemoryFromForwardToRelease) {
  StageCosts costs = uniform_costs(1, Time(10), Time(10), Time(10));
  costs.stages[0].weights = Bytes(1000);
  costs.stages[0].activation = Bytes(100);
  costs.stages[0].freed_by_input_grad = Bytes(30);
  costs.stages[0].working = Bytes(7);
  const Schedule split = parse_schedule("0F0,0I0,0W0\n", "split");
  const Timeline timeline = simulate(split, costs, uniform_machine(1));
  const auto& memory = timeline.ranks[0].memory;
  const std::vector<MemoryPoint> expected{{Time(0), Bytes(1000)},  {Time(0), Bytes(1107)},
                                          {Time(10), Bytes(1100)}, {Time(10), Bytes(1107)},
                                          {Time(20), Bytes(1070)}, {Time(20), Bytes(1077)},
                                          {Time(30), Bytes(1000)}};
  EXPECT_EQ(memory, expected);
}

}  // namespace
}  // namespace headrace
