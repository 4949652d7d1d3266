// SPDX-License-Identifier: Apache-2.0
#include "headrace/schedule/schedule.h"

#include "headrace/base/error.h"

#include <algorithm>

namespace headrace {

bool Schedule::is_lowered() const {
  for (const auto& list : ranks)
    for (const Action& action : list)
      if (is_send(action.kind) || is_receive(action.kind)) return true;
  return false;
}

std::size_t Schedule::action_count() const {
  std::size_t count = 0;
  for (const auto& list : ranks) count += list.size();
  return count;
}

Placement straight_placement(int ranks) {
  return looped_placement(ranks, 1);
}

Placement looped_placement(int ranks, int stages_per_rank) {
  HEADRACE_CHECK(ranks >= 1 && stages_per_rank >= 1, "placement of {} x {} stages", ranks,
                 stages_per_rank);
  Placement placement;
  for (int stage = 0; stage < ranks * stages_per_rank; ++stage)
    placement.emplace_back(stage % ranks);
  return placement;
}

Placement wave_placement(int ranks, int stages_per_rank) {
  HEADRACE_CHECK(ranks >= 1 && stages_per_rank >= 1, "placement of {} x {} stages", ranks,
                 stages_per_rank);
  Placement placement;
  for (int stage = 0; stage < ranks * stages_per_rank; ++stage) {
    const int turn = stage / ranks;
    const int at = stage % ranks;
    placement.emplace_back(turn % 2 == 0 ? at : ranks - 1 - at);
  }
  return placement;
}

Schedule without_transfers(const Schedule& schedule) {
  Schedule result = schedule;
  for (auto& list : result.ranks)
    std::erase_if(list, [](const Action& a) { return is_send(a.kind) || is_receive(a.kind); });
  return result;
}

}  // namespace headrace
