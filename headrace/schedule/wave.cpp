// SPDX-License-Identifier: Apache-2.0
//
// Hanayo. Micro-batches enter every second slot and zigzag over the ranks; p micro-batches are a
// unit, and units follow each other without a gap. Here p = 2, one wave, m = 2: rank 0 holds stages
// 0 and 3, rank 1 holds 1 and 2.
//
//   time     0   1   2   3   4   5   6   7   8   9
//   rank 0   0F0 .   0F1 3F0 3B0 3F1 3B1 0B0 .   0B1
//   rank 1   .   1F0 2F0 1F1 2F1 2B0 1B0 2B1 1B1 .
#include "headrace/schedule/wave.h"

#include "headrace/schedule/internal/building.h"
#include "headrace/schedule/verify.h"

#include <algorithm>
#include <vector>

namespace headrace {
namespace {

// An action and the slot of unit time in which it runs.
struct Slotted {
  int slot;
  Action action;
};

}  // namespace

Schedule hanayo(int ranks, int micro_batches, int waves) {
  internal::require_at_least("hanayo", "ranks", ranks, 1);
  internal::require_at_least("hanayo", "micro-batches", micro_batches, 1);
  internal::require_at_least("hanayo", "waves", waves, 1);
  Schedule schedule =
      internal::empty_schedule("hanayo", ranks, micro_batches, wave_placement(ranks, 2 * waves));
  const int stages = schedule.stage_count();
  std::vector<std::vector<Slotted>> slotted(schedule.ranks.size());
  for (int k = 0; k < micro_batches; ++k) {
    const int enters = 2 * (k % ranks) + 2 * stages * (k / ranks);
    for (int s = 0; s < stages; ++s) {
      auto& list = slotted[schedule.copies[0][static_cast<std::size_t>(s)].index()];
      const StageId stage(s);
      const MicroBatchId mb(k);
      list.push_back({enters + s, {ActionKind::Forward, false, 0, stage, mb}});
      list.push_back({enters + 2 * stages - 1 - s, {ActionKind::Backward, false, 0, stage, mb}});
    }
  }
  for (std::size_t r = 0; r < slotted.size(); ++r) {
    std::sort(slotted[r].begin(), slotted[r].end(),
              [](const Slotted& a, const Slotted& b) { return a.slot < b.slot; });
    for (const Slotted& entry : slotted[r]) schedule.ranks[r].push_back(entry.action);
  }
  require_verified(schedule, "hanayo");
  return schedule;
}

}  // namespace headrace
