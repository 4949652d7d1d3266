// SPDX-License-Identifier: Apache-2.0
//
// An action: one entry of a rank's list.
#pragma once

#include "headrace/base/ids.h"

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace headrace {

enum class ActionKind : std::uint8_t {
  Forward,       // F
  Backward,      // B             whole backward: InputGrad and WeightGrad together
  InputGrad,     // I             gradient of the stage's input
  WeightGrad,    // W             gradient of the stage's weights
  SendForward,   // SEND_F        the stage's output, to the next stage
  RecvForward,   // RECV_F        the stage's input, from the stage before
  SendBackward,  // SEND_B        the gradient of the stage's input, to the stage before
  RecvBackward,  // RECV_B        the gradient of the stage's output, from the next stage
  Recompute,     // RECOMPUTE     the forward again, before the backward
  Evict,         // EVICT         the activation goes to the host rank (BPipe)
  Load,          // LOAD          and comes back
  ReduceGrad,    // REDUCE_GRAD   across the copies or replicas of the stage; no micro-batch
  Update,  // UPDATE        optimizer step of the stage; no micro-batch, or the last one it includes
};
inline constexpr int kActionKinds = 13;

// `2F5` is the forward of stage 2 for micro-batch 5; `2F5.1` is that of its sequence slice 1.
// An overlapped pair is two entries in a row, of which the first has `overlaps_next`.
struct Action {
  ActionKind kind = ActionKind::Forward;
  bool overlaps_next = false;
  std::int16_t slice = 0;
  StageId stage;
  MicroBatchId micro_batch;  // not valid() for ReduceGrad, and for Update at the end of a step

  constexpr auto operator<=>(const Action&) const = default;
};
static_assert(sizeof(Action) == 12);

[[nodiscard]] constexpr bool is_compute(ActionKind kind) {
  return kind <= ActionKind::WeightGrad;
}
[[nodiscard]] constexpr bool is_send(ActionKind kind) {
  return kind == ActionKind::SendForward || kind == ActionKind::SendBackward;
}
[[nodiscard]] constexpr bool is_receive(ActionKind kind) {
  return kind == ActionKind::RecvForward || kind == ActionKind::RecvBackward;
}

// The token between stage and micro-batch: "F", "SEND_F", ...
[[nodiscard]] std::string_view kind_token(ActionKind kind);

// "2F5", or "2F5.1" where the schedule has slices (`with_slice`); one action, never a pair.
[[nodiscard]] std::string to_text(const Action& action, bool with_slice = false);

}  // namespace headrace
