// SPDX-License-Identifier: Apache-2.0
#include "tests/execute/random_schedule.h"

#include "headrace/base/random.h"
#include "headrace/schedule/dependency.h"
#include "headrace/schedule/verify.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace headrace::testing {
namespace {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed) {}
  int below(int bound) {
    return static_cast<int>(random_below(seed_, {next_++, 0, 0, 0}, static_cast<unsigned>(bound)));
  }
  bool one_in(int n) { return below(n) == 0; }

 private:
  std::uint64_t seed_;
  std::uint32_t next_ = 0;
};

// Copy 1 lives one rank further on, so that no rank holds two copies of a stage.
std::vector<Placement> random_copies(Dice& dice, int ranks, int stages) {
  std::vector<Placement> copies(ranks > 1 && dice.one_in(4) ? 2 : 1);
  for (int s = 0; s < stages; ++s) {
    // Each rank gets a stage at least; the others go anywhere.
    const int rank = s < ranks ? s : dice.below(ranks);
    for (std::size_t c = 0; c < copies.size(); ++c)
      copies[c].push_back(RankId((rank + static_cast<int>(c)) % ranks));
  }
  return copies;
}

std::vector<Action> random_actions(Dice& dice, const Schedule& schedule) {
  std::vector<Action> actions;
  const bool forward_only = dice.one_in(8);
  const int split_one_in = 1 + dice.below(3);
  for (int s = 0; s < schedule.stage_count(); ++s)
    for (int k = 0; k < schedule.micro_batches; ++k) {
      // All slices of a micro-batch alike.
      const bool split = dice.one_in(split_one_in);
      for (int j = 0; j < schedule.slices; ++j) {
        const auto add = [&](ActionKind kind) {
          actions.push_back(
              {kind, false, static_cast<std::int16_t>(j), StageId(s), MicroBatchId(k)});
        };
        add(ActionKind::Forward);
        if (forward_only) continue;
        add(split ? ActionKind::InputGrad : ActionKind::Backward);
        if (split) add(ActionKind::WeightGrad);
      }
    }
  return actions;
}

// Joins neighbours into pairs where the schedule still verifies.
void join_pairs(Dice& dice, Schedule& schedule) {
  for (auto& list : schedule.ranks)
    for (std::size_t i = 0; i + 1 < list.size(); ++i) {
      const bool apart = list[i].kind == list[i + 1].kind || !dice.one_in(4) ||
                         (i > 0 && list[i - 1].overlaps_next);
      if (apart) continue;
      list[i].overlaps_next = true;
      if (!verify(schedule).empty()) list[i].overlaps_next = false;
    }
}

}  // namespace

Schedule random_schedule(std::uint64_t seed) {
  Dice dice(seed);
  Schedule schedule;
  schedule.name = "random";
  const int ranks = 1 + dice.below(5);
  schedule.micro_batches = 1 + dice.below(6);
  schedule.slices = dice.one_in(3) ? 1 + dice.below(3) : 1;
  schedule.copies = random_copies(dice, ranks, ranks + dice.below(2 * ranks));
  if (schedule.copies.size() > 1)
    for (int k = 0; k < schedule.micro_batches; ++k) schedule.flow.push_back(dice.below(2));
  schedule.ranks.resize(static_cast<std::size_t>(ranks));

  std::vector<Action> waiting = random_actions(dice, schedule);
  const ResultTable table(schedule);
  std::vector<char> made(table.size(), 0);
  const auto ready = [&](const Action& a) {
    const Needs needs = needs_of(a, schedule.stage_count(), schedule.slices);
    return std::all_of(needs.begin(), needs.end(), [&](const Need& need) {
      return made[table.at(need.kind, need.stage, a.micro_batch, need.slice)] != 0;
    });
  };
  while (!waiting.empty()) {
    std::vector<std::size_t> candidates;
    for (std::size_t i = 0; i < waiting.size(); ++i)
      if (ready(waiting[i])) candidates.push_back(i);
    const std::size_t chosen =
        candidates[static_cast<std::size_t>(dice.below(static_cast<int>(candidates.size())))];
    const Action action = waiting[chosen];
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(chosen));
    const auto mark = [&](ResultKind kind) {
      made[table.at(kind, action.stage, action.micro_batch, action.slice)] = 1;
    };
    if (action.kind == ActionKind::Forward) mark(ResultKind::Output);
    if (action.kind == ActionKind::Backward || action.kind == ActionKind::InputGrad)
      mark(ResultKind::InputGrad);
    if (action.kind == ActionKind::Backward || action.kind == ActionKind::WeightGrad)
      mark(ResultKind::WeightGrad);
    schedule.ranks[schedule.rank_of(action.stage, action.micro_batch).index()].push_back(action);
  }
  join_pairs(dice, schedule);
  return schedule;
}

}  // namespace headrace::testing
