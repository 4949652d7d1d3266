// SPDX-License-Identifier: Apache-2.0
#include "headrace/schedule/internal/building.h"

#include "headrace/base/error.h"
#include "headrace/schedule/verify.h"

#include <fmt/format.h>

#include <algorithm>

namespace headrace::internal {

void require_at_least(std::string_view method, std::string_view what, int value, int least) {
  if (value < least)
    throw UsageError(fmt::format("{}: {} is {}; expected {} or more", method, what, value, least));
}

Schedule empty_schedule(std::string_view method, int ranks, int micro_batches,
                        Placement placement) {
  Schedule schedule;
  schedule.name = method;
  schedule.micro_batches = micro_batches;
  schedule.copies = {std::move(placement)};
  schedule.ranks.resize(static_cast<std::size_t>(ranks));
  return schedule;
}

Schedule straight_schedule(std::string_view method, int ranks, int micro_batches) {
  require_at_least(method, "ranks", ranks, 1);
  require_at_least(method, "micro-batches", micro_batches, 1);
  return empty_schedule(method, ranks, micro_batches, straight_placement(ranks));
}

Schedule warm_up_then_alternate(std::string_view method, int ranks, int micro_batches,
                                const std::vector<int>& warm_up) {
  Schedule schedule = straight_schedule(method, ranks, micro_batches);
  for (int rank = 0; rank < ranks; ++rank) {
    const int first = std::min(warm_up[static_cast<std::size_t>(rank)], micro_batches);
    for (int k = 0; k < first; ++k) add(schedule, rank, ActionKind::Forward, rank, k);
    for (int k = 0; k < micro_batches; ++k) {
      if (first + k < micro_batches) add(schedule, rank, ActionKind::Forward, rank, first + k);
      add(schedule, rank, ActionKind::Backward, rank, k);
    }
  }
  require_verified(schedule, method);
  return schedule;
}

}  // namespace headrace::internal
