// SPDX-License-Identifier: Apache-2.0
//
// One walk over all ranks in rounds. In a round each rank runs at most one action; what it makes is
// there from the next round on. The moment a result crosses ranks, its send and its receive are
// appended, so the order of the walk is an order in which all actions and all messages complete:
//
//   round      0      1                 2
//   rank 0     0F0    0SEND_F0 | 0F1    0SEND_F1 ...
//   rank 1                 1RECV_F0 | 1F0  ...
#include "headrace/schedule/lower.h"

#include "headrace/base/error.h"
#include "headrace/schedule/dependency.h"
#include "headrace/schedule/verify.h"

#include <algorithm>
#include <cstdint>

namespace headrace {
namespace {

class Lowering {
 public:
  explicit Lowering(const Schedule& schedule)
      : source_(schedule),
        lowered_(schedule),
        table_(schedule),
        made_in_(table_.size(), kNever),
        waiter_(table_.size(), kNobody),
        position_(schedule.ranks.size(), 0) {
    for (std::size_t r = 0; r < schedule.ranks.size(); ++r) {
      lowered_.ranks[r].clear();
      lowered_.ranks[r].reserve(3 * schedule.ranks[r].size());
    }
  }

  Schedule run() {
    std::vector<std::int32_t> now;
    for (std::size_t r = 0; r < position_.size(); ++r) now.push_back(static_cast<std::int32_t>(r));
    for (std::int32_t round = 0; !now.empty(); ++round) {
      next_.clear();
      for (const std::int32_t rank : now) step(static_cast<std::size_t>(rank), round);
      // A fixed order within the round makes equal schedules lower to equal lists.
      std::sort(next_.begin(), next_.end());
      now.swap(next_);
    }
    for (std::size_t r = 0; r < position_.size(); ++r)
      HEADRACE_CHECK(position_[r] == source_.ranks[r].size(), "lowering stopped on rank {}", r);
    return std::move(lowered_);
  }

 private:
  static constexpr std::int32_t kNever = INT32_MAX;
  static constexpr std::int32_t kNobody = -1;

  void step(std::size_t rank, std::int32_t round) {
    const auto& list = source_.ranks[rank];
    if (position_[rank] == list.size()) return;
    const std::size_t width = list[position_[rank]].overlaps_next ? 2 : 1;
    for (std::size_t i = 0; i < width; ++i)
      if (must_wait(list[position_[rank] + i], rank, round)) return;
    for (std::size_t i = 0; i < width; ++i)
      lowered_.ranks[rank].push_back(list[position_[rank] + i]);
    for (std::size_t i = 0; i < width; ++i) hand_on(list[position_[rank] + i], round);
    position_[rank] += width;
    if (position_[rank] < list.size()) next_.push_back(static_cast<std::int32_t>(rank));
  }

  bool must_wait(const Action& a, std::size_t rank, std::int32_t round) {
    for (const Need& need : needs_of(a, source_.stage_count(), source_.slices)) {
      const std::size_t result = table_.at(need.kind, need.stage, a.micro_batch, need.slice);
      if (made_in_[result] < round) continue;
      if (made_in_[result] == kNever)
        waiter_[result] = static_cast<std::int32_t>(rank);
      else
        next_.push_back(static_cast<std::int32_t>(rank));  // made in this very round
      return true;
    }
    return false;
  }

  void hand_on(const Action& a, std::int32_t round) {
    const int stage = a.stage.value;
    if (a.kind == ActionKind::Forward) {
      made(ResultKind::Output, a, round);
      if (stage + 1 < source_.stage_count())
        transfer(a, ActionKind::SendForward, ActionKind::RecvForward, StageId(stage + 1));
    } else if (a.kind == ActionKind::Backward || a.kind == ActionKind::InputGrad) {
      made(ResultKind::InputGrad, a, round);
      if (stage > 0)
        transfer(a, ActionKind::SendBackward, ActionKind::RecvBackward, StageId(stage - 1));
    }
  }

  void made(ResultKind kind, const Action& a, std::int32_t round) {
    const std::size_t result = table_.at(kind, a.stage, a.micro_batch, a.slice);
    made_in_[result] = round;
    if (waiter_[result] != kNobody) next_.push_back(waiter_[result]);
    waiter_[result] = kNobody;
  }

  void transfer(const Action& a, ActionKind send, ActionKind receive, StageId peer) {
    const RankId from = source_.rank_of(a.stage, a.micro_batch);
    const RankId to = source_.rank_of(peer, a.micro_batch);
    if (from == to) return;
    lowered_.ranks[from.index()].push_back({send, false, a.slice, a.stage, a.micro_batch});
    lowered_.ranks[to.index()].push_back({receive, false, a.slice, peer, a.micro_batch});
  }

  const Schedule& source_;
  Schedule lowered_;
  ResultTable table_;
  std::vector<std::int32_t> made_in_;  // round of each result
  std::vector<std::int32_t> waiter_;   // the rank that stands still until the result is made
  std::vector<std::size_t> position_;
  std::vector<std::int32_t> next_;  // ranks that may go on in the next round
};

}  // namespace

Schedule lower(const Schedule& schedule) {
  if (schedule.is_lowered())
    throw UsageError("lower: the schedule has sends and receives already; pass it without them");
  if (const auto violations = verify(schedule); !violations.empty())
    throw UsageError("lower: " + violations.front().message);
  return Lowering(schedule).run();
}

}  // namespace headrace
