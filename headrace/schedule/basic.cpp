// SPDX-License-Identifier: Apache-2.0
//
// One stage per rank. The digit is the micro-batch; the stage is the rank; p = ranks,
// m = micro-batches; here p = 3, m = 4, and every action takes 1.
//
// naive: one micro-batch after the other; only one rank works at a time.
//
//   time     0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15 16 17 18 19 20 21 22 23
//   rank 0   F0 .  .  .  .  B0 F1 .  .  .  .  B1 F2 .  .  .  .  B2 F3 .  .  .  .  B3
//   rank 1   .  F0 .  .  B0 .  .  F1 .  .  B1 .  .  F2 .  .  B2 .  .  F3 .  .  B3 .
//   rank 2   .  .  F0 B0 .  .  .  .  F1 B1 .  .  .  .  F2 B2 .  .  .  .  F3 B3 .  .
//
// GPipe: fill and drain (Huang et al. 2019). All forwards, then all backwards; every rank holds
// all m activations.
//
//   time     0  1  2  3  4  5  6  7  8  9  10 11
//   rank 0   F0 F1 F2 F3 .  .  .  .  B0 B1 B2 B3
//   rank 1   .  F0 F1 F2 F3 .  .  B0 B1 B2 B3 .
//   rank 2   .  .  F0 F1 F2 F3 B0 B1 B2 B3 .  .
//
// 1F1B: one forward, one backward (PipeDream-Flush, Narayanan et al. 2021; DAPPLE, Fan et al.
// 2021). A rank first runs just enough forwards to fill the ranks below it, then alternates, then
// drains. So rank r never holds more than p - r activations, however many micro-batches the step
// has.
//
//   time     0  1  2  3  4  5  6  7  8  9  10 11
//   rank 0   F0 F1 F2 .  .  B0 F3 B1 .  B2 .  B3
//   rank 1   .  F0 F1 .  B0 F2 B1 F3 B2 .  B3 .
//   rank 2   .  .  F0 B0 F1 B1 F2 B2 F3 B3 .  .
#include "headrace/schedule/basic.h"

#include "headrace/schedule/internal/building.h"
#include "headrace/schedule/verify.h"

#include <algorithm>

namespace headrace {

Schedule naive(int ranks, int micro_batches) {
  Schedule schedule = internal::straight_schedule("naive", ranks, micro_batches);
  for (int rank = 0; rank < ranks; ++rank)
    for (int k = 0; k < micro_batches; ++k) {
      internal::add(schedule, rank, ActionKind::Forward, rank, k);
      internal::add(schedule, rank, ActionKind::Backward, rank, k);
    }
  require_verified(schedule, "naive");
  return schedule;
}

Schedule gpipe(int ranks, int micro_batches, bool reverse) {
  Schedule schedule = internal::straight_schedule("gpipe", ranks, micro_batches);
  for (int rank = 0; rank < ranks; ++rank) {
    for (int k = 0; k < micro_batches; ++k)
      internal::add(schedule, rank, ActionKind::Forward, rank, k);
    for (int k = 0; k < micro_batches; ++k)
      internal::add(schedule, rank, ActionKind::Backward, rank,
                    reverse ? micro_batches - 1 - k : k);
  }
  require_verified(schedule, "gpipe");
  return schedule;
}

Schedule one_f_one_b(int ranks, int micro_batches, int in_flight) {
  internal::require_at_least("1f1b", "in-flight limit", in_flight, 0);
  std::vector<int> warm_up;
  for (int rank = 0; rank < ranks; ++rank) {
    const int limit = in_flight == 0 ? ranks : in_flight;
    warm_up.push_back(std::min(ranks - 1 - rank, limit - 1));
  }
  return internal::warm_up_then_alternate("1f1b", ranks, micro_batches, warm_up);
}

Schedule eager_one_f_one_b(int ranks, int micro_batches, int in_flight) {
  internal::require_at_least("eager-1f1b", "in-flight limit", in_flight, 0);
  std::vector<int> warm_up;
  for (int rank = 0; rank < ranks; ++rank) {
    const int own = 2 * (ranks - 1 - rank);
    warm_up.push_back(in_flight == 0 ? own : std::min(own, in_flight - 1));
  }
  return internal::warm_up_then_alternate("eager-1f1b", ranks, micro_batches, warm_up);
}

Schedule forward_only(int ranks, int micro_batches, int stages_per_rank) {
  internal::require_at_least("forward-only", "ranks", ranks, 1);
  internal::require_at_least("forward-only", "micro-batches", micro_batches, 1);
  internal::require_at_least("forward-only", "stages-per-rank", stages_per_rank, 1);
  Schedule schedule = internal::empty_schedule("forward-only", ranks, micro_batches,
                                               looped_placement(ranks, stages_per_rank));
  for (int rank = 0; rank < ranks; ++rank)
    for (int first = 0; first < micro_batches; first += ranks)
      for (int chunk = 0; chunk < stages_per_rank; ++chunk)
        for (int k = first; k < std::min(first + ranks, micro_batches); ++k)
          internal::add(schedule, rank, ActionKind::Forward, chunk * ranks + rank, k);
  require_verified(schedule, "forward-only");
  return schedule;
}

}  // namespace headrace
