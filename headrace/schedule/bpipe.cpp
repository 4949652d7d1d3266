// SPDX-License-Identifier: Apache-2.0
//
// BPipe, p = 4, m = 8, at most 3 activations. E evicts to the partner, L loads back. The one
// evicted is the newest, whose backward is the last to come.
//
//   rank 0   F0 F1 F2 E2 F3 B0 F4 B1 F5 E5 L2 B2 F6 B3 F7 B4 L5 B5 B6 B7
//   rank 3   F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7
#include "headrace/schedule/bpipe.h"

#include "headrace/schedule/basic.h"
#include "headrace/schedule/verify.h"

#include <set>

namespace headrace {
namespace {

std::vector<Action> with_evictions(const std::vector<Action>& list, std::size_t most) {
  std::vector<Action> result;
  std::set<MicroBatchId> here;
  std::set<MicroBatchId> away;
  const auto move = [&](ActionKind kind, const Action& a, MicroBatchId k) {
    result.push_back({kind, false, 0, a.stage, k});
  };
  for (const Action& a : list) {
    const MicroBatchId k = a.micro_batch;
    const bool comes = a.kind == ActionKind::Forward || away.count(k) > 0;
    if (comes && here.size() == most) {
      const MicroBatchId newest = *here.rbegin();
      move(ActionKind::Evict, a, newest);
      here.erase(newest);
      away.insert(newest);
    }
    if (away.count(k) > 0) {
      move(ActionKind::Load, a, k);
      away.erase(k);
    }
    here.insert(k);
    result.push_back(a);
    if (a.kind == ActionKind::Backward) here.erase(k);
  }
  return result;
}

}  // namespace

Schedule bpipe(int ranks, int micro_batches) {
  Schedule schedule = one_f_one_b(ranks, micro_batches);
  schedule.name = "bpipe";
  const auto most = static_cast<std::size_t>((ranks + 3) / 2);
  for (int d = 0; d < ranks; ++d) {
    schedule.hosts.emplace_back(ranks - 1 - d);
    auto& list = schedule.ranks[static_cast<std::size_t>(d)];
    if (2 * d < ranks) list = with_evictions(list, most);
  }
  require_verified(schedule, "bpipe");
  return schedule;
}

}  // namespace headrace
