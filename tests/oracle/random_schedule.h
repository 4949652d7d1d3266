// SPDX-License-Identifier: Apache-2.0
//
// Valid schedules that no method would make: stages anywhere, each backward whole or split, and the
// order of a random walk in which every action has what it needs.
#pragma once

#include "headrace/schedule/schedule.h"

#include <random>
#include <set>
#include <string>
#include <vector>

namespace headrace::test {

class RandomWalk {
 public:
  RandomWalk(int ranks, int stages, int micro_batches, std::mt19937& random)
      : stages_(stages), random_(random) {
    schedule_.name = "random";
    schedule_.micro_batches = micro_batches;
    schedule_.ranks.resize(static_cast<std::size_t>(ranks));
    // The first stages cover the ranks, so that none is left without one.
    schedule_.copies.emplace_back();
    for (int s = 0; s < stages; ++s)
      schedule_.copies[0].push_back(
          RankId(s < ranks ? s : static_cast<int>(random() % static_cast<unsigned>(ranks))));
  }

  Schedule run() {
    for (int s = 0; s < stages_; ++s)
      for (int k = 0; k < schedule_.micro_batches; ++k) {
        add(ActionKind::Forward, s, k);
        if (random_() % 2 == 0) {
          add(ActionKind::Backward, s, k);
        } else {
          add(ActionKind::InputGrad, s, k);
          add(ActionKind::WeightGrad, s, k);
        }
      }
    while (!left_.empty()) {
      const std::size_t at = random_() % left_.size();
      const Action a = left_[at];
      if (!ready(a)) continue;
      schedule_.ranks[schedule_.rank_of(a.stage, a.micro_batch).index()].push_back(a);
      done_.insert(to_text(a));
      left_.erase(left_.begin() + static_cast<std::ptrdiff_t>(at));
    }
    return schedule_;
  }

 private:
  void add(ActionKind kind, int s, int k) {
    left_.push_back({kind, false, 0, StageId(s), MicroBatchId(k)});
  }
  bool has(int s, const char* kind, int k) const {
    return done_.count(std::to_string(s) + kind + std::to_string(k)) > 0;
  }
  bool ready(const Action& a) const {
    const int s = a.stage.value;
    const int k = a.micro_batch.value;
    if (a.kind == ActionKind::Forward) return s == 0 || has(s - 1, "F", k);
    if (a.kind == ActionKind::WeightGrad) return has(s, "I", k);
    return has(s, "F", k) && (s + 1 == stages_ || has(s + 1, "B", k) || has(s + 1, "I", k));
  }

  int stages_;
  std::mt19937& random_;
  Schedule schedule_;
  std::vector<Action> left_;
  std::set<std::string> done_;
};

// Up to 4 ranks, 3 stages per rank and 4 micro-batches.
inline Schedule random_walk_schedule(std::mt19937& random) {
  const int ranks = 1 + static_cast<int>(random() % 4);
  const int stages = ranks + static_cast<int>(random() % static_cast<unsigned>(2 * ranks + 1));
  return RandomWalk(ranks, stages, 1 + static_cast<int>(random() % 4), random).run();
}

}  // namespace headrace::test
