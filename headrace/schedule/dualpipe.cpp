// SPDX-License-Identifier: Apache-2.0
//
// DualPipe, p = 4, m = 8. Micro-batches 0 to 3 enter at rank 0, 4 to 7 at rank 3; `+` joins the two
// halves of an overlapped pair, which takes one slot here.
//
//   rank 0   0F0 0F1 0F2 3F4 3I4 3W4 3F5 0F3+3B5 3F6+0B0 3B6 3F7+0B1 3B7 0I2 0W2 0I3 0W3
//   rank 1   1F0 2F4 1F1 2F5 1F2 2B4 2F6+1B0 1F3+2B5 2F7+1B1 2B6 1B2 2I7 1I3 2W7 1W3
//
// A rank sees two phases: 0, the direction that enters on its side of the middle, and 1, the other.
// r is its distance from its end, R the length of a side, n the micro-batches of one direction. The
// V form is the same with one side of p ranks, and the two stages of a rank as the phases.
#include "headrace/base/error.h"
#include "headrace/schedule/bidirectional.h"
#include "headrace/schedule/internal/building.h"
#include "headrace/schedule/verify.h"

#include <fmt/format.h>

#include <deque>

namespace headrace {
namespace {

// What a rank runs in one phase: a stage, and micro-batches from `next` on.
struct Phase {
  int stage;
  int forward;
  int backward;
};

class RankList {
 public:
  RankList(Schedule& schedule, int rank, Phase zero, Phase one)
      : schedule_(schedule), rank_(rank), phases_{zero, one} {}

  void run(int R, int r, int n) {
    repeat(2 * (R - 1 - r), [&] { f(0); });
    repeat(r + 1, [&] {
      f(0);
      f(1);
    });
    repeat(R - 1 - r, [&] {
      i(1);
      w();
      f(1);
    });
    steady(n - 2 * R + r + 1, r == R - 1);
    repeat(R - 1 - r, [&] {
      b(1);
      pair(1, 0);
    });
    drain(r);
    repeat(R - 1 - r, [&] {
      w();
      i(0);
    });
    repeat(r + 1, [&] { w(); });
  }

 private:
  template <class Do>
  static void repeat(int times, Do what) {
    for (int t = 0; t < times; ++t) what();
  }

  // The two directions meet on the middle ranks, where the first pair has nothing to overlap with.
  void steady(int times, bool middle) {
    for (int t = 0; t < times; ++t) {
      if (t == 0 && middle) {
        f(0);
        b(1);
      } else {
        pair(0, 1);
      }
      pair(1, 0);
    }
  }

  // From the middle of this part on, weight gradients are put off to fill the end.
  void drain(int r) {
    const int half = (r + 1) / 2;
    for (int t = 0; t < r + 1; ++t) {
      if (t > half || (t == half && r % 2 == 1))
        i(1);
      else
        b(1);
      if (t >= half)
        i(0);
      else
        b(0);
    }
  }

  void f(int phase) {
    internal::add(schedule_, rank_, ActionKind::Forward, at(phase).stage, at(phase).forward++);
  }
  void b(int phase) {
    internal::add(schedule_, rank_, ActionKind::Backward, at(phase).stage, at(phase).backward++);
  }
  void i(int phase) {
    waiting_.push_back({at(phase).stage, at(phase).backward});
    internal::add(schedule_, rank_, ActionKind::InputGrad, at(phase).stage, at(phase).backward++);
  }
  void w() {
    internal::add(schedule_, rank_, ActionKind::WeightGrad, waiting_.front().first,
                  waiting_.front().second);
    waiting_.pop_front();
  }
  void pair(int forward, int backward) {
    f(forward);
    schedule_.ranks[static_cast<std::size_t>(rank_)].back().overlaps_next = true;
    b(backward);
  }
  Phase& at(int phase) { return phases_[phase]; }

  Schedule& schedule_;
  int rank_;
  Phase phases_[2];
  std::deque<std::pair<int, int>> waiting_;  // stage and micro-batch of each W put off
};

}  // namespace

Schedule dualpipe(int ranks, int micro_batches) {
  const int p = ranks;
  const int m = micro_batches;
  internal::require_at_least("dualpipe", "ranks", p, 1);
  internal::require_at_least("dualpipe", "micro-batches", m, 1);
  if (p % 2 != 0 || m % 2 != 0 || m < 2 * p)
    throw UsageError(
        fmt::format("dualpipe: {} ranks and {} micro-batches; it needs an even number of "
                    "ranks and an even number of micro-batches, at least twice the ranks, "
                    "such as {} and {}",
                    p, m, p + p % 2, std::max(m + m % 2, 2 * (p + p % 2))));
  Schedule schedule = internal::empty_schedule("dualpipe", p, m, straight_placement(p));
  Placement up;
  for (int s = 0; s < p; ++s) up.emplace_back(p - 1 - s);
  schedule.copies.push_back(up);
  for (int k = 0; k < m; ++k) schedule.flow.push_back(k < m / 2 ? 0 : 1);
  for (int d = 0; d < p; ++d) {
    const Phase down{d, 0, 0};
    const Phase other{p - 1 - d, m / 2, m / 2};
    const bool first_half = d < p / 2;
    RankList(schedule, d, first_half ? down : other, first_half ? other : down)
        .run(p / 2, std::min(d, p - 1 - d), m / 2);
  }
  require_verified(schedule, "dualpipe");
  return schedule;
}

Schedule dualpipe_v(int ranks, int micro_batches) {
  const int p = ranks;
  const int m = micro_batches;
  internal::require_at_least("dualpipev", "ranks", p, 1);
  if (m < 2 * p)
    throw UsageError(
        fmt::format("dualpipev: {} micro-batches on {} ranks; it needs {} or more", m, p, 2 * p));
  Schedule schedule = internal::empty_schedule("dualpipev", p, m, wave_placement(p, 2));
  for (int d = 0; d < p; ++d) RankList(schedule, d, {d, 0, 0}, {2 * p - 1 - d, 0, 0}).run(p, d, m);
  require_verified(schedule, "dualpipev");
  return schedule;
}

}  // namespace headrace
