// SPDX-License-Identifier: Apache-2.0
//
// PipeDream, p = 2, m = 3; U is the update that follows each backward, and v the weight version
// that a forward reads (its backward reads the same one).
//
//   rank 0   F0(v0) F1(v0) B0 U0 F2(v1) B1 U1 B2 U2       keeps 2 versions
//   rank 1   F0(v0) B0 U0 F1(v1) B1 U1 F2(v2) B2 U2       keeps 1
//
// 2BW, p = 2, m = 4, an update for every two: micro-batches 0 to 3 read version 0, 4 and 5
// version 1.
//
//   rank 0   F0 F1 B0 F2 B1 U1 F3 B2 B3 U3
#include "headrace/schedule/asynchronous.h"

#include "headrace/base/error.h"
#include "headrace/schedule/basic.h"
#include "headrace/schedule/internal/building.h"
#include "headrace/schedule/verify.h"

#include <fmt/format.h>

#include <algorithm>

namespace headrace {
namespace {

// 1F1B with an update after every `per`-th backward of a rank.
Schedule with_updates(const char* method, int ranks, int micro_batches, int per) {
  Schedule schedule = one_f_one_b(ranks, micro_batches);
  schedule.name = method;
  schedule.weights.micro_batches_per_update = per;
  for (auto& list : schedule.ranks) {
    std::vector<Action> updated;
    for (const Action& a : list) {
      updated.push_back(a);
      if (a.kind == ActionKind::Backward && (a.micro_batch.value + 1) % per == 0)
        updated.push_back({ActionKind::Update, false, 0, a.stage, a.micro_batch});
    }
    list = std::move(updated);
  }
  return schedule;
}

}  // namespace

Schedule pipedream(int ranks, int micro_batches, bool vertical_sync) {
  Schedule schedule = with_updates("pipedream", ranks, micro_batches, 1);
  schedule.weights.rule = vertical_sync ? WeightRule::VerticalSync : WeightRule::Stash;
  for (int s = 0; s < ranks; ++s)
    schedule.weights.versions.push_back(vertical_sync ? ranks : ranks - s);
  require_verified(schedule, "pipedream");
  return schedule;
}

Schedule pipedream_2bw(int ranks, int micro_batches, int per_update) {
  internal::require_at_least("pipedream-2bw", "ranks", ranks, 1);
  internal::require_at_least("pipedream-2bw", "micro-batches", micro_batches, 1);
  const int per = per_update == 0 ? ranks : per_update;
  const auto works = [&](int count) {
    return count >= std::max(1, ranks - 1) && micro_batches % count == 0;
  };
  if (!works(per)) {
    std::string working;
    for (int count = 1; count <= micro_batches; ++count)
      if (works(count)) working += fmt::format("{}{}", working.empty() ? "" : ", ", count);
    throw UsageError(
        fmt::format("pipedream-2bw: updates of {} micro-batches with {} ranks and {} "
                    "micro-batches; they must be "
                    "{} or more and divide {}: {}",
                    per, ranks, micro_batches, std::max(1, ranks - 1), micro_batches,
                    working.empty() ? fmt::format("none does; use {} micro-batches or more", ranks)
                                    : "group " + working));
  }
  Schedule schedule = with_updates("pipedream-2bw", ranks, micro_batches, per);
  schedule.weights.rule = WeightRule::DoubleBuffer;
  schedule.weights.versions.assign(static_cast<std::size_t>(ranks), 2);
  require_verified(schedule, "pipedream-2bw");
  return schedule;
}

}  // namespace headrace
