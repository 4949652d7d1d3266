// SPDX-License-Identifier: Apache-2.0
#include "headrace/schedule/internal/walk.h"

#include "headrace/base/error.h"
#include "headrace/schedule/dependency.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace headrace::internal {
namespace {

// The action at the other end of a send or receive, on the neighbouring stage.
Action other_end(const Action& action) {
  Action other = action;
  switch (action.kind) {
    case ActionKind::SendForward:
      other.kind = ActionKind::RecvForward;
      other.stage = StageId(action.stage.value + 1);
      break;
    case ActionKind::RecvForward:
      other.kind = ActionKind::SendForward;
      other.stage = StageId(action.stage.value - 1);
      break;
    case ActionKind::SendBackward:
      other.kind = ActionKind::RecvBackward;
      other.stage = StageId(action.stage.value - 1);
      break;
    default:
      other.kind = ActionKind::SendBackward;
      other.stage = StageId(action.stage.value + 1);
      break;
  }
  return other;
}

// What a standing rank waits for: an action of another rank, which comes later there.
struct Wait {
  Action action;
  RankId rank;
  std::int32_t position = -1;
};

class Walker {
 public:
  Walker(const Schedule& schedule, const ActionIndex& index, SendRule sends)
      : schedule_(schedule), index_(index), sends_(sends), standing_(schedule.ranks.size(), 0) {
    lowered_ = schedule.is_lowered();
  }

  WalkEnd run() {
    // A rank goes on the list whenever another rank's progress may have freed it.
    std::vector<std::size_t> ready;
    std::vector<char> listed(standing_.size(), 1);
    for (std::size_t r = standing_.size(); r-- > 0;) ready.push_back(r);
    waiters_.assign(standing_.size(), {});
    while (!ready.empty()) {
      const std::size_t rank = ready.back();
      ready.pop_back();
      listed[rank] = 0;
      if (!advance(rank)) continue;
      for (const std::size_t other : waiters_[rank])
        if (!listed[other]) {
          listed[other] = 1;
          ready.push_back(other);
        }
      waiters_[rank].clear();
    }
    WalkEnd end{true, standing_};
    for (std::size_t r = 0; r < standing_.size(); ++r)
      end.finished = end.finished && standing_[r] == schedule_.ranks[r].size();
    return end;
  }

  void stand_at(const std::vector<std::size_t>& standing) { standing_ = standing; }

  // What keeps the action at `position` of `rank` from running now, if anything does.
  [[nodiscard]] std::optional<Wait> wait_of(std::size_t rank, std::size_t position) const {
    const Action& action = schedule_.ranks[rank][position];
    if (is_compute(action.kind)) {
      if (auto wait = compute_wait(action)) return wait;
      if (action.overlaps_next && position + 1 < schedule_.ranks[rank].size())
        return compute_wait(schedule_.ranks[rank][position + 1]);
      return std::nullopt;
    }
    if (is_receive(action.kind)) return transfer_wait(action);
    if (is_send(action.kind) && sends_ == SendRule::Blocking) return transfer_wait(action);
    return std::nullopt;
  }

 private:
  // Runs `rank` until it has to wait; true if it moved at all.
  bool advance(std::size_t rank) {
    const auto& list = schedule_.ranks[rank];
    const std::size_t before = standing_[rank];
    while (standing_[rank] < list.size()) {
      const std::size_t position = standing_[rank];
      if (const auto wait = wait_of(rank, position)) {
        waiters_[wait->rank.index()].push_back(rank);
        break;
      }
      standing_[rank] += list[position].overlaps_next ? 2 : 1;
    }
    standing_[rank] = std::min(standing_[rank], list.size());
    return standing_[rank] != before;
  }

  // A need within the rank is in order if verify's order rule holds, so only others are looked at.
  // In a lowered list a compute action waits through the RECV before it.
  [[nodiscard]] std::optional<Wait> compute_wait(const Action& action) const {
    if (lowered_) return std::nullopt;
    const RankId own = schedule_.rank_of(action.stage, action.micro_batch);
    for (const Need& need : needs_of(action, schedule_.stage_count(), schedule_.slices)) {
      const RankId rank = schedule_.rank_of(need.stage, action.micro_batch);
      if (rank == own) continue;
      Action producer = action;
      producer.overlaps_next = false;
      producer.stage = need.stage;
      producer.slice = need.slice;
      producer.kind = need.kind == ResultKind::Output ? ActionKind::Forward : ActionKind::Backward;
      if (producer.kind == ActionKind::Backward && index_.at(producer) < 0)
        producer.kind = ActionKind::InputGrad;
      if (const auto wait = later(producer, rank)) return wait;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Wait> transfer_wait(const Action& action) const {
    const Action other = other_end(action);
    if (other.stage.value < 0 || other.stage.value >= schedule_.stage_count()) return std::nullopt;
    const RankId rank = schedule_.rank_of(other.stage, other.micro_batch);
    const std::int32_t position = index_.at(other);
    if (position < 0) return std::nullopt;
    const auto at = static_cast<std::int64_t>(standing_[rank.index()]);
    // Blocking: both ends pass together, so it is enough that the other one stands there.
    const bool there = sends_ == SendRule::Blocking ? at >= position : at > position;
    if (there) return std::nullopt;
    return Wait{other, rank, position};
  }

  [[nodiscard]] std::optional<Wait> later(const Action& producer, RankId rank) const {
    const std::int32_t position = index_.at(producer);
    if (position < 0 || static_cast<std::int64_t>(standing_[rank.index()]) > position)
      return std::nullopt;
    return Wait{producer, rank, position};
  }

  const Schedule& schedule_;
  const ActionIndex& index_;
  SendRule sends_;
  bool lowered_ = false;
  std::vector<std::size_t> standing_;
  // waiters_[r]: ranks that stand still until rank r moves.
  std::vector<std::vector<std::size_t>> waiters_;
};

}  // namespace

WalkEnd walk(const Schedule& schedule, const ActionIndex& index, SendRule sends) {
  return Walker(schedule, index, sends).run();
}

std::string describe_cycle(const Schedule& schedule, const ActionIndex& index, const WalkEnd& end,
                           SendRule sends) {
  Walker walker(schedule, index, sends);
  walker.stand_at(end.standing);
  std::size_t rank = 0;
  while (end.standing[rank] == schedule.ranks[rank].size()) ++rank;
  // Follow who waits for whom until a rank comes up again: that is where the cycle begins.
  std::vector<std::size_t> path;
  std::vector<char> seen(schedule.ranks.size(), 0);
  while (!seen[rank]) {
    seen[rank] = 1;
    path.push_back(rank);
    const auto wait = walker.wait_of(rank, end.standing[rank]);
    HEADRACE_CHECK(wait.has_value(), "rank {} stands still without a reason", rank);
    rank = wait->rank.index();
  }
  const bool slices = schedule.slices > 1;
  std::string words = "deadlock:";
  bool inside = false;
  for (const std::size_t waiting : path) {
    inside = inside || waiting == rank;
    if (!inside) continue;
    const std::size_t position = end.standing[waiting];
    const auto wait = walker.wait_of(waiting, position);
    words += fmt::format(
        " rank {} stands at {} (action {}) and waits for {}, which comes only later "
        "on rank {} (action {});",
        waiting, to_text(schedule.ranks[waiting][position], slices), position,
        to_text(wait->action, slices), wait->rank.value, wait->position);
  }
  words.back() = '.';
  return words + " Move one of the awaited actions before the action at which its rank stands.";
}

}  // namespace headrace::internal
