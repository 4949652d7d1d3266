// SPDX-License-Identifier: Apache-2.0
//
// Links and memory of simulate() against slow twins, on orders that no method would make.
#include "headrace/schedule/lower.h"
#include "headrace/schedule/text_form.h"
#include "headrace/simulate/simulate.h"
#include "tests/oracle/random_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace headrace {
namespace {

using Random = std::mt19937;
using Nanoseconds = std::int64_t;

struct Setting {
  Schedule schedule;
  StageCosts costs;
  Machine machine;
};

Setting random_setting(Random& random) {
  Setting setting{test::random_walk_schedule(random), {}, {}};
  setting.costs = uniform_costs(setting.schedule.stage_count(), Time(0), Time(0), Time(0));
  for (StageCost& stage : setting.costs.stages) {
    stage.forward = Time(random() % 20);
    stage.input_grad = Time(random() % 20);
    stage.weight_grad = Time(random() % 20);
    stage.output = Bytes(random() % 100);
  }
  setting.machine = uniform_machine(setting.schedule.rank_count());
  setting.machine.link = {Time(random() % 10),
                          static_cast<std::int64_t>(random() % 4) * 700'000'000};
  return setting;
}

Nanoseconds duration_of(const Action& a, const StageCosts& costs) {
  const StageCost& stage = costs.stages[a.stage.index()];
  if (a.kind == ActionKind::Forward) return stage.forward.count();
  if (a.kind == ActionKind::InputGrad) return stage.input_grad.count();
  if (a.kind == ActionKind::WeightGrad) return stage.weight_grad.count();
  return (stage.input_grad + stage.weight_grad).count();
}

// Walks all lists again and again with what the last walk found, until nothing moves.
class LinkTwin {
 public:
  explicit LinkTwin(const Setting& setting) : in_(setting), lowered_(lower(setting.schedule)) {}

  void run() {
    for (changed_ = true; changed_;) {
      changed_ = false;
      for (std::size_t rank = 0; rank < lowered_.ranks.size(); ++rank) walk(rank);
    }
  }

  std::map<std::string, Nanoseconds> start;    // of every action and, blocking, of both ends
  std::map<std::string, Nanoseconds> arrival;  // by the name of the send
  const Schedule& lowered() const { return lowered_; }

 private:
  static std::string name(int stage, const char* kind, const Action& a) {
    return std::to_string(stage) + kind + std::to_string(a.micro_batch.value);
  }
  static bool goes_forward(const Action& a) {
    return a.kind == ActionKind::SendForward || a.kind == ActionKind::RecvForward;
  }
  // The name of the send that a receive belongs to.
  static std::string send_of(const Action& receive) {
    return goes_forward(receive) ? name(receive.stage.value - 1, "SEND_F", receive)
                                 : name(receive.stage.value + 1, "SEND_B", receive);
  }
  static std::string receive_of(const Action& send) {
    return goes_forward(send) ? name(send.stage.value + 1, "RECV_F", send)
                              : name(send.stage.value - 1, "RECV_B", send);
  }
  // The boundary behind stage s carries what stage s puts out, both ways.
  std::int64_t bytes_of(const Action& end) const {
    const bool behind = end.kind == ActionKind::SendForward || end.kind == ActionKind::RecvBackward;
    return in_.costs.stages[end.stage.index() - (behind ? 0 : 1)].output.value;
  }
  Nanoseconds on_the_link(const Action& end) const {
    const std::int64_t speed = in_.machine.link.bytes_per_second;
    if (speed == 0) return 0;
    Nanoseconds time = 0;
    while (time * speed < bytes_of(end) * 1'000'000'000) ++time;
    return time;
  }
  void raise(std::map<std::string, Nanoseconds>& times, const std::string& key, Nanoseconds to) {
    const auto [at, fresh] = times.emplace(key, to);
    changed_ = changed_ || fresh || at->second != to;
    at->second = to;
  }
  Nanoseconds known(const std::map<std::string, Nanoseconds>& times, const std::string& key) const {
    const auto found = times.find(key);
    return found == times.end() ? 0 : found->second;
  }

  // Only messages: what the own rank made stands earlier in its list, and is done.
  Nanoseconds inputs(const Action& a) const {
    if (a.kind == ActionKind::WeightGrad) return 0;
    return a.kind == ActionKind::Forward ? known(arrival, name(a.stage.value - 1, "SEND_F", a))
                                         : known(arrival, name(a.stage.value + 1, "SEND_B", a));
  }

  void walk(std::size_t rank) {
    Nanoseconds free = 0;
    std::map<int, Nanoseconds> link_free;  // by the rank at its other end
    for (const Action& a : lowered_.ranks[rank]) {
      if (is_compute(a.kind)) {
        free = std::max(free, inputs(a));
        raise(start, to_text(a), free);
        free += duration_of(a, in_.costs);
      } else if (in_.machine.sends_block) {
        const std::string send = is_send(a.kind) ? to_text(a) : send_of(a);
        raise(start, to_text(a), free);
        const std::string other = is_send(a.kind) ? receive_of(a) : send;
        free =
            std::max(free, known(start, other)) + on_the_link(a) + in_.machine.link.latency.count();
        raise(arrival, send, free);
      } else if (is_send(a.kind)) {
        const int to = a.stage.value + (goes_forward(a) ? 1 : -1);
        Nanoseconds& link = link_free[lowered_.rank_of(StageId(to), a.micro_batch).value];
        const Nanoseconds sent = in_.machine.links_contend ? std::max(free, link) : free;
        link = sent + on_the_link(a);
        raise(arrival, to_text(a), link + in_.machine.link.latency.count());
      }
    }
  }

  const Setting& in_;
  Schedule lowered_;
  bool changed_ = true;
};

void expect_equal(const Timeline& timeline, const LinkTwin& twin, const std::string& about) {
  for (const RankTimeline& rank : timeline.ranks)
    for (const TimedAction& timed : rank.actions)
      ASSERT_EQ(timed.start.count(), twin.start.at(to_text(timed.action)))
          << about << to_text(timed.action) << "\n"
          << to_text(twin.lowered());
  ASSERT_EQ(timeline.messages.size(), twin.arrival.size());
  for (const TimedMessage& message : timeline.messages)
    ASSERT_EQ(message.arrived.count(), twin.arrival.at(to_text(message.send)))
        << about << to_text(message.send) << "\n"
        << to_text(twin.lowered());
}

void compare(bool contend, bool block, unsigned seed) {
  std::printf("seed %u\n", seed);
  Random random(seed);
  for (int i = 0; i < 2000; ++i) {
    Setting setting = random_setting(random);
    setting.machine.links_contend = contend;
    setting.machine.sends_block = block;
    LinkTwin twin(setting);
    twin.run();
    const std::string about = "case " + std::to_string(i) + ": ";
    expect_equal(simulate(twin.lowered(), setting.costs, setting.machine), twin, about);
    if (!block)
      expect_equal(simulate(setting.schedule, setting.costs, setting.machine), twin, about);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(Simulate, AgreesWithTheTwinOnFreeLinks) {
  compare(false, false, 101);
}

TEST(Simulate, AgreesWithTheTwinOnContendedLinks) {
  compare(true, false, 102);
}

TEST(Simulate, AgreesWithTheTwinWhenSendsBlock) {
  compare(false, true, 103);
}

// What a rank holds is summed up from nothing but the list of timed actions: once at each instant,
// and once while each action runs, which also sees actions that take no time.
class MemoryTwin {
 public:
  MemoryTwin(const Setting& setting, const RankTimeline& rank, std::size_t r)
      : costs_(setting.costs), rank_(rank) {
    for (int s = 0; s < setting.schedule.stage_count(); ++s)
      if (setting.schedule.copies[0][static_cast<std::size_t>(s)].index() == r) {
        const StageCost& stage = costs_.stages[static_cast<std::size_t>(s)];
        base_ += stage.weights.value + stage.gradients.value + stage.optimizer.value;
      }
  }

  std::int64_t held_at(Nanoseconds now) const {
    std::int64_t held = base_;
    for (const TimedAction& t : rank_.actions) {
      if (t.start.count() <= now) held += begins(t.action);
      if (t.end.count() <= now) held -= ends(t.action);
    }
    return held;
  }
  std::int64_t held_during(std::size_t index) const {
    std::int64_t held = base_;
    for (std::size_t i = 0; i <= index; ++i) held += begins(rank_.actions[i].action);
    for (std::size_t i = 0; i < index; ++i) held -= ends(rank_.actions[i].action);
    return held;
  }
  int live_during(std::size_t index) const {
    int live = 0;
    for (std::size_t i = 0; i <= index; ++i)
      live += rank_.actions[i].action.kind == ActionKind::Forward ? 1 : 0;
    for (std::size_t i = 0; i < index; ++i) live -= releases(rank_.actions[i].action.kind) ? 1 : 0;
    return live;
  }

 private:
  static bool releases(ActionKind kind) {
    return kind == ActionKind::Backward || kind == ActionKind::WeightGrad;
  }
  std::int64_t begins(const Action& a) const {
    const StageCost& stage = costs_.stages[a.stage.index()];
    return stage.working.value + (a.kind == ActionKind::Forward ? stage.activation.value : 0);
  }
  std::int64_t ends(const Action& a) const {
    const StageCost& stage = costs_.stages[a.stage.index()];
    const std::int64_t early = stage.freed_by_input_grad.value;
    if (a.kind == ActionKind::Backward) return stage.working.value + stage.activation.value;
    if (a.kind == ActionKind::InputGrad) return stage.working.value + early;
    if (a.kind == ActionKind::WeightGrad)
      return stage.working.value + stage.activation.value - early;
    return stage.working.value;
  }

  const StageCosts& costs_;
  const RankTimeline& rank_;
  std::int64_t base_ = 0;
};

std::int64_t curve_at(const RankTimeline& rank, Nanoseconds now) {
  std::int64_t held = 0;
  for (const MemoryPoint& point : rank.memory)
    if (point.at.count() <= now) held = point.held.value;
  return held;
}

void expect_memory(const Setting& setting, const Timeline& timeline) {
  for (std::size_t r = 0; r < timeline.ranks.size(); ++r) {
    const RankTimeline& rank = timeline.ranks[r];
    const MemoryTwin twin(setting, rank, r);
    std::int64_t peak = twin.held_at(-1);
    int live = 0;
    for (std::size_t i = 0; i < rank.actions.size(); ++i) {
      peak = std::max(peak, twin.held_during(i));
      live = std::max(live, twin.live_during(i));
      for (const Time at : {rank.actions[i].start, rank.actions[i].end})
        ASSERT_EQ(curve_at(rank, at.count()), twin.held_at(at.count()))
            << to_text(setting.schedule);
    }
    ASSERT_EQ(rank.peak_live, live) << to_text(setting.schedule);
    std::int64_t highest = 0;
    for (const MemoryPoint& point : rank.memory) highest = std::max(highest, point.held.value);
    ASSERT_EQ(highest, peak) << to_text(setting.schedule);
  }
}

TEST(Simulate, HoldsTheMemoryThatTheEventsSumUpTo) {
  constexpr unsigned kSeed = 104;
  std::printf("seed %u\n", kSeed);
  Random random(kSeed);
  for (int i = 0; i < 2000; ++i) {
    Setting setting = random_setting(random);
    for (StageCost& stage : setting.costs.stages) {
      for (Bytes* bytes : {&stage.weights, &stage.gradients, &stage.optimizer, &stage.working})
        *bytes = Bytes(random() % 50);
      stage.activation = Bytes(1 + random() % 1000);
      stage.freed_by_input_grad =
          Bytes(random() % static_cast<unsigned>(stage.activation.value + 1));
    }
    expect_memory(setting, simulate(setting.schedule, setting.costs, setting.machine));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace headrace
