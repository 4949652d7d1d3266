// SPDX-License-Identifier: Apache-2.0
//
// How one variant is built (F, I and W as in every split schedule):
//
//   1. the first F of every rank, then as many extra F's as fit before the first gradient arrives
//   2. round after round: an F on every rank that wants one, from the first rank down, then an I on
//      every rank, from the last one up; W's fill the gaps while a rank waits, and make room where
//      the memory limit would be passed
//   3. the W's that are left
//
// The variants differ in three switches: whether the extra forwards may leave a bubble, whether a
// rank holds its forwards back while the next one is busy, and whether gaps are filled greedily.
#include "headrace/schedule/automatic.h"

#include "headrace/base/error.h"
#include "headrace/schedule/internal/building.h"
#include "headrace/schedule/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace headrace {
namespace {

struct Switches {
  bool leave_bubble;
  bool hold_forwards;
  bool greedy;
};

// What a rank has done so far in a variant.
struct RankState {
  std::int64_t time = 0;
  std::int64_t memory = 0;
  std::int64_t idle = 0;   // since its first F
  std::int64_t first = 0;  // start of its first F
  int f = 0;
  int i = 0;
  int w = 0;
  std::vector<std::int64_t> f_end;
  std::vector<std::int64_t> i_end;
  std::vector<Action> list;
};

class Variant {
 public:
  Variant(int p, int m, std::int64_t limit, const ScheduleCosts& costs, Switches switches)
      : p_(p),
        m_(m),
        limit_(limit),
        costs_(costs),
        on_(switches),
        ranks_(static_cast<std::size_t>(p)) {}

  // The lists, or none where the memory limit stops it.
  std::optional<std::vector<RankState>> build() {
    fill();
    for (int round = 1; round < m_ && !stuck_; ++round) {
      forwards();
      backwards();
    }
    for (int d = 0; d < p_ && !stuck_; ++d)
      while (at(d).w < at(d).i) put(d, ActionKind::WeightGrad);
    if (stuck_) return std::nullopt;
    return std::move(ranks_);
  }

 private:
  RankState& at(int d) { return ranks_[static_cast<std::size_t>(d)]; }
  const ScheduleStageCost& cost(int d) const { return costs_.stages[static_cast<std::size_t>(d)]; }
  std::int64_t latency() const { return costs_.latency.count(); }
  bool pending(int d) { return at(d).w < at(d).i; }
  std::int64_t max_idle() {
    std::int64_t most = 0;
    for (const RankState& rank : ranks_) most = std::max(most, rank.idle);
    return most;
  }

  // When what the next F or I of rank d needs from its neighbour is there.
  std::int64_t arrival(int d, ActionKind kind) {
    if (kind == ActionKind::Forward)
      return d == 0 ? 0 : at(d - 1).f_end[static_cast<std::size_t>(at(d).f)] + latency();
    return d == p_ - 1 ? 0 : at(d + 1).i_end[static_cast<std::size_t>(at(d).i)] + latency();
  }

  void put(int d, ActionKind kind) {
    RankState& rank = at(d);
    const ScheduleStageCost& own = cost(d);
    std::int64_t start = rank.time;
    if (kind != ActionKind::WeightGrad) start = std::max(start, arrival(d, kind));
    if (rank.f > 0)
      rank.idle += start - rank.time;
    else
      rank.first = start;
    int k = 0;
    if (kind == ActionKind::Forward) {
      k = rank.f++;
      rank.time = start + own.forward.count();
      rank.f_end.push_back(rank.time);
      rank.memory += own.activation;
    } else if (kind == ActionKind::InputGrad) {
      k = rank.i++;
      rank.time = start + own.input_grad.count();
      rank.i_end.push_back(rank.time);
      rank.memory -= own.freed_by_input_grad;
    } else {
      k = rank.w++;
      rank.time = start + own.weight_grad.count();
      rank.memory -= own.activation - own.freed_by_input_grad;
    }
    rank.list.push_back({kind, false, 0, StageId(d), MicroBatchId(k)});
  }

  void make_room_for_forward(int d) {
    while (!stuck_ && at(d).memory + cost(d).activation > limit_) {
      if (!pending(d)) stuck_ = true;
      if (!stuck_) put(d, ActionKind::WeightGrad);
    }
  }

  void fill_gap(int d, ActionKind kind) {
    const std::int64_t comes = arrival(d, kind);
    const std::int64_t w = cost(d).weight_grad.count();
    while (pending(d) && at(d).time + w <= comes) put(d, ActionKind::WeightGrad);
    if (!pending(d) || at(d).time >= comes) return;
    if (comes - at(d).time > max_idle() - at(d).idle || on_.greedy) put(d, ActionKind::WeightGrad);
  }

  void fill() {
    for (int d = 0; d < p_; ++d) put(d, ActionKind::Forward);
    std::vector<int> extra(static_cast<std::size_t>(p_), 0);
    std::int64_t edge = at(p_ - 1).time + cost(p_ - 1).input_grad.count();
    for (int d = p_ - 2; d >= 0; --d) {
      std::int64_t time = at(d).time;
      int& count = extra[static_cast<std::size_t>(d)];
      const std::int64_t f = cost(d).forward.count();
      while (at(d).f + count < m_ && at(d).memory + (count + 1) * cost(d).activation <= limit_ &&
             !(on_.leave_bubble ? time + f > edge + latency() : time >= edge + latency())) {
        ++count;
        time += f;
      }
      edge = std::max(time, edge + latency()) + cost(d).input_grad.count();
    }
    for (int d = 1; d < p_; ++d) {
      const auto own = extra.begin() + d;
      while (*own > 0 && *own >= *(own - 1) && at(d).f + *own < m_) --*own;
    }
    for (int d = 0; d < p_; ++d)
      for (int n = 0; n < extra[static_cast<std::size_t>(d)]; ++n) put(d, ActionKind::Forward);
    for (int d = p_; d-- > 0;) put(d, ActionKind::InputGrad);
  }

  // Time of the W's that must run before rank d has room for an F.
  std::int64_t time_for_room(int d) {
    std::int64_t over = at(d).memory + cost(d).activation - limit_;
    const std::int64_t freed = cost(d).activation - cost(d).freed_by_input_grad;
    std::int64_t time = 0;
    for (; over > 0 && freed > 0; over -= freed) time += cost(d).weight_grad.count();
    return time;
  }

  bool wants_forward(int d) {
    if (at(d).f >= m_) return false;
    if (!on_.hold_forwards || d + 1 == p_ || at(d).f < at(d + 1).f + 2) return true;
    const std::int64_t next =
        at(d + 1).time + cost(d + 1).forward.count() + cost(d + 1).input_grad.count() + latency();
    if (at(d).time >= next) return false;
    if (at(d).time + cost(d).forward.count() + time_for_room(d) <= next) return true;
    return next - at(d).time > max_idle() - at(d).idle;
  }

  void forwards() {
    std::vector<char> want;
    for (int d = 0; d < p_; ++d) want.push_back(wants_forward(d) ? 1 : 0);
    for (int d = p_ - 2; d >= 0; --d)
      if (at(d).f < m_ && at(d + 1).f < m_)
        want[static_cast<std::size_t>(d)] =
            std::min(want[static_cast<std::size_t>(d)], want[static_cast<std::size_t>(d) + 1]);
    for (int d = 0; d < p_ && !stuck_; ++d) {
      if (want[static_cast<std::size_t>(d)] == 0) continue;
      make_room_for_forward(d);
      if (stuck_) return;
      if (d > 0) fill_gap(d, ActionKind::Forward);
      put(d, ActionKind::Forward);
    }
  }

  void backwards() {
    for (int d = p_; d-- > 0 && !stuck_;) {
      if (at(d).f <= at(d).i) stuck_ = true;
      if (stuck_) return;
      if (d < p_ - 1) fill_gap(d, ActionKind::InputGrad);
      while (d == 0 && at(0).f == m_ && pending(0)) put(0, ActionKind::WeightGrad);
      put(d, ActionKind::InputGrad);
    }
  }

  int p_;
  int m_;
  std::int64_t limit_;
  const ScheduleCosts& costs_;
  Switches on_;
  std::vector<RankState> ranks_;
  bool stuck_ = false;
};

std::int64_t span_of(const std::vector<RankState>& ranks) {
  std::int64_t span = 0;
  for (const RankState& rank : ranks) span = std::max(span, rank.time - rank.first);
  return span;
}

}  // namespace

Schedule zero_bubble_auto(const char* method, int ranks, int micro_batches, int in_flight,
                          const ScheduleCosts& given) {
  Schedule schedule = internal::straight_schedule(method, ranks, micro_batches);
  ScheduleCosts costs = given;
  if (costs.stages.empty()) costs.stages.resize(static_cast<std::size_t>(ranks));
  if (static_cast<int>(costs.stages.size()) != ranks)
    throw UsageError(fmt::format("{}: costs of {} stages for {} ranks; give one per rank", method,
                                 costs.stages.size(), ranks));
  std::int64_t largest = 0;
  for (const ScheduleStageCost& stage : costs.stages) largest = std::max(largest, stage.activation);
  const std::int64_t limit = costs.limit > 0 ? costs.limit : in_flight * largest;
  std::optional<std::vector<RankState>> best;
  for (int bits = 0; bits < 8; ++bits) {
    const Switches switches{(bits & 4) == 0, (bits & 2) == 0, (bits & 1) == 0};
    auto lists = Variant(ranks, micro_batches, limit, costs, switches).build();
    if (lists && (!best || span_of(*lists) < span_of(*best))) best = std::move(lists);
  }
  if (!best || limit < largest)
    throw UsageError(
        fmt::format("{}: a limit of {} does not fit; one activation takes {}, so give {} "
                    "or more",
                    method, limit, largest, largest));
  for (int d = 0; d < ranks; ++d)
    schedule.ranks[static_cast<std::size_t>(d)] = (*best)[static_cast<std::size_t>(d)].list;
  require_verified(schedule, method);
  return schedule;
}

}  // namespace headrace
