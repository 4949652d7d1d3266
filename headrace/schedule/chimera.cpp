// SPDX-License-Identifier: Apache-2.0
//
// Chimera. Down, stage s lives on rank s; up, on rank p - 1 - s. A unit is p micro-batches, half of
// them in each direction; one enters every second slot and the two directions interlock.
// Here p = 4, m = 4: micro-batches 0 and 1 go down, 2 and 3 up; both copies of a stage have its
// number.
//
//   time     0   1   2   3   4   5   6   7   8   9
//   rank 0   0F0 .   0F1 3F2 3B2 3F3 3B3 0B0 .   0B1
//   rank 1   .   1F0 2F2 1F1 2F3 2B2 1B0 2B3 1B1 .
//   rank 2   .   1F2 2F0 1F3 2F1 2B0 1B2 2B1 1B3 .
//   rank 3   0F2 .   0F3 3F0 3B0 3F1 3B1 0B2 .   0B3
#include "headrace/base/error.h"
#include "headrace/schedule/bidirectional.h"
#include "headrace/schedule/internal/building.h"
#include "headrace/schedule/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace headrace {
namespace {

struct Slotted {
  int slot;
  Action action;
};

void check_sizes(int p, int m, int pairs) {
  internal::require_at_least("chimera", "ranks", p, 1);
  internal::require_at_least("chimera", "micro-batches", m, 1);
  internal::require_at_least("chimera", "pairs", pairs, 1);
  if (p % 2 != 0)
    throw UsageError(fmt::format("chimera: {} ranks; it needs an even number, such as {} or {}", p,
                                 p - 1 > 0 ? p - 1 : p + 3, p + 1));
  if ((p / 2) % pairs != 0)
    throw UsageError(fmt::format(
        "chimera: {} pairs do not divide {}, half of the ranks; 1 and {} do", pairs, p / 2, p / 2));
  if (m > p && m % p != 0)
    throw UsageError(
        fmt::format("chimera: {} micro-batches on {} ranks; use at most {}, or a "
                    "multiple: {} or {}",
                    m, p, p, m / p * p, (m / p + 1) * p));
}

// Copy 2j goes down from rank j p / f on, copy 2j + 1 up.
std::vector<Placement> placements(int p, int pairs) {
  std::vector<Placement> copies;
  for (int j = 0; j < pairs; ++j)
    for (const bool down : {true, false}) {
      Placement placement;
      for (int s = 0; s < p; ++s)
        placement.emplace_back(((down ? s : p - 1 - s) + j * p / pairs) % p);
      copies.push_back(std::move(placement));
    }
  return copies;
}

}  // namespace

Schedule chimera(int ranks, int micro_batches, int pairs) {
  check_sizes(ranks, micro_batches, pairs);
  const int p = ranks;
  Schedule schedule = internal::empty_schedule("chimera", p, micro_batches, straight_placement(p));
  schedule.copies = placements(p, pairs);
  const int pipelines = 2 * pairs;
  std::vector<std::vector<Slotted>> slotted(schedule.ranks.size());
  for (int first = 0, unit = 0; first < micro_batches; first += p, ++unit) {
    const int count = std::min(p, micro_batches - first);
    int k = first;
    for (int copy = 0; copy < pipelines; ++copy) {
      const int own = count / pipelines + (copy < count % pipelines ? 1 : 0);
      for (int q = 0; q < own; ++q, ++k) {
        schedule.flow.push_back(copy);
        for (int s = 0; s < p; ++s) {
          const RankId rank =
              schedule.copies[static_cast<std::size_t>(copy)][static_cast<std::size_t>(s)];
          const int enters = 2 * p * unit + 2 * q;
          auto& list = slotted[rank.index()];
          list.push_back(
              {enters + s, {ActionKind::Forward, false, 0, StageId(s), MicroBatchId(k)}});
          list.push_back({enters + 2 * p - 1 - s,
                          {ActionKind::Backward, false, 0, StageId(s), MicroBatchId(k)}});
        }
      }
    }
  }
  for (std::size_t r = 0; r < slotted.size(); ++r) {
    std::stable_sort(slotted[r].begin(), slotted[r].end(),
                     [](const Slotted& a, const Slotted& b) { return a.slot < b.slot; });
    for (const Slotted& entry : slotted[r]) schedule.ranks[r].push_back(entry.action);
  }
  require_verified(schedule, "chimera");
  return schedule;
}

}  // namespace headrace
