// SPDX-License-Identifier: Apache-2.0
//
// ZB-H1, p = 3, m = 4. B is split into I, which the rank above waits for, and W, which nobody does.
//
//   time     0  1  2  3  4  5  6  7  8  9  10 11 12 13
//   rank 0   F0 F1 F2 .  .  I0 W0 F3 I1 W1 I2 W2 I3 W3
//   rank 1   .  F0 F1 .  I0 F2 I1 W0 F3 I2 W1 I3 W2 W3
//   rank 2   .  .  F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3
//
// ZB-H2 runs twice as many forwards before the first backward, so that the first rank has work
// until its first gradient arrives; the bubble moves behind the last action of each rank.
//
//   time     0  1  2  3  4  5  6  7  8  9  10 11 12 13
//   rank 0   F0 F1 F2 F3 .  I0 W0 I1 W1 I2 W2 I3 W3
//   rank 1   .  F0 F1 F2 I0 F3 I1 W0 I2 W1 I3 W2 W3
//   rank 2   .  .  F0 I0 F1 I1 F2 I2 F3 I3 W0 W1 W2 W3
#include "headrace/schedule/zero_bubble.h"

#include "headrace/schedule/internal/building.h"
#include "headrace/schedule/verify.h"

#include <algorithm>

namespace headrace {
namespace {

// h times the warm-up of 1F1B; rank d begins with its weight gradients h d backwards late.
Schedule handcrafted(const char* method, int h, int ranks, int micro_batches) {
  Schedule schedule = internal::straight_schedule(method, ranks, micro_batches);
  for (int rank = 0; rank < ranks; ++rank) {
    const int warm = std::min(h * (ranks - 1 - rank), micro_batches);
    const int lag = h * (ranks - 1) - warm;
    int weights = 0;
    for (int k = 0; k < warm; ++k) internal::add(schedule, rank, ActionKind::Forward, rank, k);
    for (int k = 0; k < micro_batches; ++k) {
      if (warm + k < micro_batches)
        internal::add(schedule, rank, ActionKind::Forward, rank, warm + k);
      internal::add(schedule, rank, ActionKind::InputGrad, rank, k);
      if (k >= lag) internal::add(schedule, rank, ActionKind::WeightGrad, rank, weights++);
    }
    while (weights < micro_batches)
      internal::add(schedule, rank, ActionKind::WeightGrad, rank, weights++);
  }
  require_verified(schedule, method);
  return schedule;
}

// The list of one rank of ZB-V: its two stages, and the next micro-batch of each kind on each.
class RankOfV {
 public:
  RankOfV(Schedule& schedule, int rank, int micro_batches)
      : schedule_(schedule),
        rank_(rank),
        stages_{rank, 2 * schedule.rank_count() - 1 - rank},
        micro_batches_(micro_batches) {}

  enum Side { kLow, kHigh };
  void f(Side side) { next(ActionKind::Forward, forwards_[side]++, side); }
  void i(Side side) { next(ActionKind::InputGrad, inputs_[side]++, side); }
  void w(Side side) { next(ActionKind::WeightGrad, weights_[side]++, side); }
  [[nodiscard]] int forwards(Side side) const { return forwards_[side]; }
  [[nodiscard]] int weights(Side side) const { return weights_[side]; }

 private:
  // The pattern is laid out for at least 2p - 1 micro-batches; those beyond m do not exist.
  void next(ActionKind kind, int k, Side side) {
    if (k < micro_batches_) internal::add(schedule_, rank_, kind, stages_[side], k);
  }

  Schedule& schedule_;
  int rank_;
  int stages_[2];
  int micro_batches_;
  int forwards_[2] = {0, 0};
  int inputs_[2] = {0, 0};
  int weights_[2] = {0, 0};
};

void fill_rank_of_v(Schedule& schedule, int d, int p, int m) {
  using V = RankOfV;
  const int n = std::max(m, 2 * p - 1);
  V rank(schedule, d, m);
  const auto high_turn = [&] {
    rank.f(V::kHigh);
    rank.i(V::kHigh);
    rank.w(V::kHigh);
  };
  for (int t = 0; t < 2 * (p - d) - 1; ++t) rank.f(V::kLow);
  for (int t = 0; t < d; ++t) {
    rank.f(V::kHigh);
    rank.f(V::kLow);
  }
  for (int t = 0; t < p - d; ++t) high_turn();
  while (rank.forwards(V::kHigh) < rank.forwards(V::kLow) || rank.forwards(V::kLow) < n) {
    if (rank.forwards(V::kLow) < n) rank.f(V::kLow);
    rank.i(V::kLow);
    rank.w(V::kLow);
    high_turn();
  }
  for (int t = 0; t < d; ++t) {
    rank.i(V::kLow);
    rank.i(V::kHigh);
  }
  for (int t = 0; t < p - d; ++t) {
    rank.i(V::kLow);
    rank.w(V::kLow);
  }
  while (rank.weights(V::kHigh) < n) rank.w(V::kHigh);
  while (rank.weights(V::kLow) < n) rank.w(V::kLow);
}

}  // namespace

Schedule zero_bubble_h1(int ranks, int micro_batches) {
  return handcrafted("zb-h1", 1, ranks, micro_batches);
}

Schedule zero_bubble_h2(int ranks, int micro_batches) {
  return handcrafted("zb-h2", 2, ranks, micro_batches);
}

Schedule zero_bubble_v(int ranks, int micro_batches) {
  internal::require_at_least("zb-v", "ranks", ranks, 1);
  internal::require_at_least("zb-v", "micro-batches", micro_batches, 1);
  Schedule schedule =
      internal::empty_schedule("zb-v", ranks, micro_batches, wave_placement(ranks, 2));
  for (int d = 0; d < ranks; ++d) fill_rank_of_v(schedule, d, ranks, micro_batches);
  require_verified(schedule, "zb-v");
  return schedule;
}

}  // namespace headrace
