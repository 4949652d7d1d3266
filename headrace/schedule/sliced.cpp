// SPDX-License-Identifier: Apache-2.0
//
// TeraPipe, p = 2, m = 1, four slices; the number behind the point is the slice.
//
//   time     0    1    2    3    4    5    6    7    8    9
//   rank 0   F0.0 F0.1 F0.2 F0.3 .    .    B0.3 B0.2 B0.1 B0.0
//   rank 1   .    F0.0 F0.1 F0.2 F0.3 B0.3 B0.2 B0.1 B0.0 .
//
// Seq1F1B, p = 2, m = 2, two slices. The first backward of a micro-batch is that of its last slice.
//
//   time     0    1    2    3    4    5    6    7    8    9
//   rank 0   F0.0 F0.1 F1.0 .    B0.1 F1.1 B0.0 .    B1.1 B1.0
//   rank 1   .    F0.0 F0.1 B0.1 F1.0 B0.0 F1.1 B1.1 B1.0 .
#include "headrace/schedule/sliced.h"

#include "headrace/schedule/internal/building.h"
#include "headrace/schedule/verify.h"

#include <algorithm>
#include <set>

namespace headrace {
namespace {

Schedule empty_sliced(const char* method, int ranks, int micro_batches, int slices) {
  internal::require_at_least(method, "slices", slices, 1);
  Schedule schedule = internal::straight_schedule(method, ranks, micro_batches);
  schedule.slices = slices;
  return schedule;
}

}  // namespace

Schedule terapipe(int ranks, int micro_batches, int slices) {
  Schedule schedule = empty_sliced("terapipe", ranks, micro_batches, slices);
  for (int rank = 0; rank < ranks; ++rank) {
    for (int k = 0; k < micro_batches; ++k)
      for (int j = 0; j < slices; ++j)
        internal::add(schedule, rank, ActionKind::Forward, rank, k, j);
    for (int k = micro_batches; k-- > 0;)
      for (int j = slices; j-- > 0;)
        internal::add(schedule, rank, ActionKind::Backward, rank, k, j);
  }
  require_verified(schedule, "terapipe");
  return schedule;
}

Schedule seq1f1b(int ranks, int micro_batches, int slices) {
  Schedule schedule = empty_sliced("seq1f1b", ranks, micro_batches, slices);
  const int units = micro_batches * slices;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto forward = [&](int unit) {
      internal::add(schedule, rank, ActionKind::Forward, rank, unit / slices, unit % slices);
    };
    const int warm = std::min(ranks - 1 - rank + slices - 1, units);
    for (int unit = 0; unit < warm; ++unit) forward(unit);
    for (int unit = 0; unit < units; ++unit) {
      if (warm + unit < units) forward(warm + unit);
      internal::add(schedule, rank, ActionKind::Backward, rank, unit / slices,
                    slices - 1 - unit % slices);
    }
  }
  require_verified(schedule, "seq1f1b");
  return schedule;
}

namespace {

// Least sum of times with no slice longer than `bound`; empty lengths if there is no way.
Slicing slice_within(int length, std::int64_t bound,
                     const std::function<std::int64_t(int, int)>& time) {
  const auto size = static_cast<std::size_t>(length) + 1;
  std::vector<std::int64_t> best(size, INT64_MAX);
  std::vector<int> last(size, 0);
  best[0] = 0;
  for (int end = 1; end <= length; ++end)
    for (int l = 1; l <= end; ++l) {
      const std::int64_t before = best[static_cast<std::size_t>(end - l)];
      const std::int64_t own = time(l, end - l);
      if (before == INT64_MAX || own > bound) continue;
      if (before + own >= best[static_cast<std::size_t>(end)]) continue;
      best[static_cast<std::size_t>(end)] = before + own;
      last[static_cast<std::size_t>(end)] = l;
    }
  Slicing slicing;
  slicing.time = best.back();
  if (slicing.time == INT64_MAX) return slicing;
  for (int end = length; end > 0; end -= last[static_cast<std::size_t>(end)])
    slicing.lengths.push_back(last[static_cast<std::size_t>(end)]);
  std::reverse(slicing.lengths.begin(), slicing.lengths.end());
  return slicing;
}

}  // namespace

Slicing slice_sequence(int length, int ranks, const std::function<std::int64_t(int, int)>& time) {
  internal::require_at_least("slicing", "length", length, 1);
  internal::require_at_least("slicing", "ranks", ranks, 1);
  std::set<std::int64_t> bounds;
  for (int context = 0; context < length; ++context)
    for (int l = 1; l + context <= length; ++l) bounds.insert(time(l, context));
  Slicing best;
  for (const std::int64_t bound : bounds) {
    // The longest slice alone already costs this much, and bounds only grow.
    if (!best.lengths.empty() && bound * (ranks - 1) >= best.time) break;
    Slicing now = slice_within(length, bound, time);
    if (now.lengths.empty()) continue;
    std::int64_t longest = 0;
    int context = 0;
    for (const int l : now.lengths) {
      longest = std::max(longest, time(l, context));
      context += l;
    }
    now.time += (ranks - 1) * longest;
    if (best.lengths.empty() || now.time < best.time) best = std::move(now);
  }
  return best;
}

}  // namespace headrace
