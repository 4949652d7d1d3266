// SPDX-License-Identifier: Apache-2.0
//
// Lowered lists. For each boundary between stages on two ranks, and each micro-batch and slice:
//
//   rank of stage s     ... sFk ... sSEND_Fk ...        rank of s+1   ... s+1RECV_Fk ... s+1Fk ...
//   rank of stage s+1   ... s+1Bk ... s+1SEND_Bk ...    rank of s     ... sRECV_Bk ... sBk ...
#include "headrace/schedule/internal/checks.h"

#include <fmt/format.h>

#include <array>

namespace headrace::internal {
namespace {

// One message of one micro-batch between two neighbouring stages.
struct Boundary {
  ActionKind send;
  ActionKind receive;
  StageId from;
  StageId to;
  MicroBatchId k;
  int slice;
};

class BoundaryCheck {
 public:
  BoundaryCheck(const Schedule& schedule, const ActionIndex& index, Violations& found)
      : schedule_(schedule), index_(index), found_(found) {}

  void run(const Boundary& b, bool used) {
    const std::int32_t send = index_.at(b.send, b.from, b.k, b.slice);
    const std::int32_t receive = index_.at(b.receive, b.to, b.k, b.slice);
    const RankId from = schedule_.rank_of(b.from, b.k);
    const RankId to = schedule_.rank_of(b.to, b.k);
    if (from == to || !used) {
      if (send >= 0) unwanted(from, send, name(b.send, b.from, b), from == to);
      if (receive >= 0) unwanted(to, receive, name(b.receive, b.to, b), from == to);
      return;
    }
    if (send < 0) missing(from, name(b.send, b.from, b));
    if (receive < 0) missing(to, name(b.receive, b.to, b));
    if (send >= 0) check_producer(b, from, send);
    if (receive >= 0) check_reader(b, to, receive);
  }

 private:
  std::string name(ActionKind kind, StageId stage, const Boundary& b) const {
    return to_text({kind, false, static_cast<std::int16_t>(b.slice), stage, b.k},
                   schedule_.slices > 1);
  }

  void missing(RankId rank, const std::string& action) {
    found_.add_whole(Rule::Message, rank.value, -1, [&] {
      return fmt::format("rank {}: {} is missing, so the other end waits forever. Add it.",
                         rank.value, action);
    });
  }

  void unwanted(RankId rank, std::int32_t position, const std::string& action, bool same_rank) {
    found_.add_whole(Rule::Message, rank.value, position, [&] {
      return fmt::format("rank {}, action {}: {} has no use: {}. Remove it.", rank.value, position,
                         action, same_rank ? "both stages live on this rank" : "nothing reads it");
    });
  }

  void check_producer(const Boundary& b, RankId rank, std::int32_t send) {
    ActionKind kind = ActionKind::Forward;
    if (b.send == ActionKind::SendBackward)
      kind = index_.at(ActionKind::Backward, b.from, b.k, b.slice) >= 0 ? ActionKind::Backward
                                                                        : ActionKind::InputGrad;
    const std::int32_t made = index_.at(kind, b.from, b.k, b.slice);
    if (made < 0 || made < send) return;
    found_.add_whole(Rule::Message, rank.value, send, [&] {
      return fmt::format(
          "rank {}, action {}: {} sends what {} makes only later (action {}). Move it "
          "behind.",
          rank.value, send, name(b.send, b.from, b), name(kind, b.from, b), made);
    });
  }

  void check_reader(const Boundary& b, RankId rank, std::int32_t receive) {
    const auto kinds = b.receive == ActionKind::RecvForward
                           ? std::array{ActionKind::Forward, ActionKind::Forward}
                           : std::array{ActionKind::Backward, ActionKind::InputGrad};
    for (const ActionKind kind : kinds) {
      const std::int32_t read = index_.at(kind, b.to, b.k, b.slice);
      if (read < 0 || read > receive) continue;
      found_.add_whole(Rule::Message, rank.value, receive, [&] {
        return fmt::format(
            "rank {}, action {}: {} comes after {}, which reads it (action {}). Move "
            "it before.",
            rank.value, receive, name(b.receive, b.to, b), name(kind, b.to, b), read);
      });
      return;
    }
  }

  const Schedule& schedule_;
  const ActionIndex& index_;
  Violations& found_;
};

bool has_backward(const ActionIndex& index, StageId stage, MicroBatchId k, int slice) {
  return index.at(ActionKind::Backward, stage, k, slice) >= 0 ||
         index.at(ActionKind::InputGrad, stage, k, slice) >= 0;
}

// A send of the last stage's output, or a receive before the first stage, crosses no boundary.
void check_ends(const Schedule& schedule, Violations& found) {
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    for (std::size_t at = 0; at < schedule.ranks[rank].size(); ++at) {
      const Action& a = schedule.ranks[rank][at];
      const bool past_last =
          a.stage == schedule.last_stage() &&
          (a.kind == ActionKind::SendForward || a.kind == ActionKind::RecvBackward);
      const bool before_first = a.stage.value == 0 && (a.kind == ActionKind::RecvForward ||
                                                       a.kind == ActionKind::SendBackward);
      if (past_last || before_first)
        found.add(Rule::Message, rank, at, [&] {
          return fmt::format("rank {}, action {}: {} has no stage at its other end. Remove it.",
                             rank, at, to_text(a, schedule.slices > 1));
        });
    }
}

}  // namespace

void check_messages(const Schedule& schedule, const ActionIndex& index, Violations& found) {
  check_ends(schedule, found);
  BoundaryCheck check(schedule, index, found);
  for (int s = 0; s + 1 < schedule.stage_count(); ++s)
    for (int k = 0; k < schedule.micro_batches; ++k)
      for (int slice = 0; slice < schedule.slices; ++slice) {
        const StageId up(s);
        const StageId down(s + 1);
        const MicroBatchId mb(k);
        check.run({ActionKind::SendForward, ActionKind::RecvForward, up, down, mb, slice}, true);
        check.run({ActionKind::SendBackward, ActionKind::RecvBackward, down, up, mb, slice},
                  has_backward(index, up, mb, slice) || has_backward(index, down, mb, slice));
      }
}

}  // namespace headrace::internal
