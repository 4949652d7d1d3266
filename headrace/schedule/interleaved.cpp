// SPDX-License-Identifier: Apache-2.0
//
// Interleaved 1F1B. Each rank holds v stages, so a micro-batch passes every rank v times and fill
// and drain shrink to 1/v. Here p = 2, v = 2, m = 4: rank 0 holds stages 0 and 2, rank 1 holds
// 1, 3.
//
//   time     0   1   2   3   4   5   6   7   8   9   10  11  12  13  14  15  16
//   rank 0   0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 .   2B2 2B3 0B2 0B3
//   rank 1   .   1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 1B3
//
// Breadth-first: a stage takes all micro-batches before the next one of its rank.
//
//   time     0   1   2   3   4   5   6   7   8   9   10  11  12  13  14  15  16
//   rank 0   0F0 0F1 0F2 0F3 2F0 2F1 2F2 2F3 .   2B3 2B2 2B1 2B0 0B3 0B2 0B1 0B0
//   rank 1   .   1F0 1F1 1F2 1F3 3F0 3F1 3F2 3F3 3B3 3B2 3B1 3B0 1B3 1B2 1B1 1B0
#include "headrace/schedule/interleaved.h"

#include "headrace/base/error.h"
#include "headrace/schedule/internal/building.h"
#include "headrace/schedule/verify.h"

#include <fmt/format.h>

#include <algorithm>

namespace headrace {
namespace {

// One turn of a rank: a micro-batch on the rank's c-th stage.
struct Turn {
  int micro_batch;
  int chunk;
};

void check_sizes(const char* method, const LoopedSizes& sizes) {
  internal::require_at_least(method, "ranks", sizes.ranks, 1);
  internal::require_at_least(method, "micro-batches", sizes.micro_batches, 1);
  internal::require_at_least(method, "stages-per-rank", sizes.stages_per_rank, 1);
  internal::require_at_least(method, "group", sizes.group, 0);
}

// PyTorch's choice: as many rounds as groups of p fit, all of one size; 0 where that is impossible.
int even_group(int p, int m) {
  const int rounds = std::max(1, m / p);
  return m % rounds == 0 ? m / rounds : 0;
}

// The micro-batch counts nearest to m, below and above, that `works` accepts.
template <class Works>
std::string nearest(int m, Works works) {
  int below = m - 1;
  while (below >= 1 && !works(below)) --below;
  int above = m + 1;
  while (!works(above)) ++above;
  return below >= 1 ? fmt::format("{} or {}", below, above) : fmt::format("{}", above);
}

int group_of(const char* method, const LoopedSizes& sizes) {
  const int p = sizes.ranks;
  const int m = sizes.micro_batches;
  if (sizes.group == 0) {
    const int group = even_group(p, m);
    if (group > 0) return group;
    throw UsageError(fmt::format(
        "{}: {} micro-batches over {} ranks cannot be cut into {} equal groups; use {} "
        "micro-batches, or give a group",
        method, m, p, m / p, nearest(m, [p](int other) { return even_group(p, other) > 0; })));
  }
  const int g = sizes.group;
  const auto works = [p, m](int group) {
    return group >= std::min(p, m) && group <= m && (m % group == 0 || m % group >= p);
  };
  if (works(g)) return g;
  std::string working;
  for (int group = 1; group <= m; ++group)
    if (works(group)) working += fmt::format("{}{}", working.empty() ? "" : ", ", group);
  throw UsageError(
      fmt::format("{}: a group of {} with {} ranks and {} micro-batches leaves a last "
                  "group shorter than the ranks, which can deadlock; groups that work: "
                  "{}",
                  method, g, p, m, working));
}

std::vector<Turn> turns_of(const LoopedSizes& sizes, int group) {
  std::vector<Turn> turns;
  for (int first = 0; first < sizes.micro_batches; first += group)
    for (int chunk = 0; chunk < sizes.stages_per_rank; ++chunk)
      for (int k = first; k < std::min(first + group, sizes.micro_batches); ++k)
        turns.push_back({k, chunk});
  return turns;
}

// Appends turns of one rank; the backward takes the rank's stages from the last to the first.
class RankList {
 public:
  RankList(Schedule& schedule, const LoopedSizes& sizes, const std::vector<Turn>& turns, int rank)
      : schedule_(schedule), sizes_(sizes), turns_(turns), rank_(rank) {}

  [[nodiscard]] int count() const { return static_cast<int>(turns_.size()); }
  void forward(int n) { add(ActionKind::Forward, n, turn(n).chunk); }
  void backward(ActionKind kind, int n) {
    add(kind, n, sizes_.stages_per_rank - 1 - turn(n).chunk);
  }

 private:
  [[nodiscard]] const Turn& turn(int n) const { return turns_[static_cast<std::size_t>(n)]; }
  void add(ActionKind kind, int n, int chunk) {
    internal::add(schedule_, rank_, kind, chunk * sizes_.ranks + rank_, turn(n).micro_batch);
  }

  Schedule& schedule_;
  const LoopedSizes& sizes_;
  const std::vector<Turn>& turns_;
  int rank_;
};

}  // namespace

Schedule interleaved_one_f_one_b(const LoopedSizes& sizes) {
  check_sizes("interleaved-1f1b", sizes);
  const int p = sizes.ranks;
  const int group = group_of("interleaved-1f1b", sizes);
  const auto turns = turns_of(sizes, group);
  Schedule schedule = internal::empty_schedule("interleaved-1f1b", p, sizes.micro_batches,
                                               looped_placement(p, sizes.stages_per_rank));
  for (int rank = 0; rank < p; ++rank) {
    RankList list(schedule, sizes, turns, rank);
    const int warm =
        std::min(2 * (p - 1 - rank) + (sizes.stages_per_rank - 1) * group, list.count());
    for (int n = 0; n < warm; ++n) list.forward(n);
    for (int n = 0; n < list.count(); ++n) {
      if (warm + n < list.count()) list.forward(warm + n);
      list.backward(ActionKind::Backward, n);
    }
  }
  require_verified(schedule, "interleaved-1f1b");
  return schedule;
}

Schedule looped_bfs(int ranks, int micro_batches, int stages_per_rank) {
  const LoopedSizes sizes{ranks, micro_batches, stages_per_rank, 0};
  check_sizes("looped-bfs", sizes);
  Schedule schedule = internal::empty_schedule("looped-bfs", ranks, micro_batches,
                                               looped_placement(ranks, stages_per_rank));
  for (int rank = 0; rank < ranks; ++rank) {
    for (int chunk = 0; chunk < stages_per_rank; ++chunk)
      for (int k = 0; k < micro_batches; ++k)
        internal::add(schedule, rank, ActionKind::Forward, chunk * ranks + rank, k);
    for (int chunk = stages_per_rank; chunk-- > 0;)
      for (int k = micro_batches; k-- > 0;)
        internal::add(schedule, rank, ActionKind::Backward, chunk * ranks + rank, k);
  }
  require_verified(schedule, "looped-bfs");
  return schedule;
}

Schedule interleaved_zero_bubble(const LoopedSizes& sizes) {
  check_sizes("interleaved-zb", sizes);
  const int p = sizes.ranks;
  const int group = group_of("interleaved-zb", sizes);
  const auto turns = turns_of(sizes, group);
  Schedule schedule = internal::empty_schedule("interleaved-zb", p, sizes.micro_batches,
                                               looped_placement(p, sizes.stages_per_rank));
  for (int rank = 0; rank < p; ++rank) {
    RankList list(schedule, sizes, turns, rank);
    const int warm = std::min((sizes.stages_per_rank - 1) * group + (p - 1 - rank), list.count());
    for (int n = 0; n < warm; ++n) list.forward(n);
    int weights = 0;
    for (int n = 0; n < list.count(); ++n) {
      if (warm + n < list.count()) list.forward(warm + n);
      list.backward(ActionKind::InputGrad, n);
      if (n >= rank) list.backward(ActionKind::WeightGrad, weights++);
    }
    while (weights < list.count()) list.backward(ActionKind::WeightGrad, weights++);
  }
  require_verified(schedule, "interleaved-zb");
  return schedule;
}

}  // namespace headrace
