// SPDX-License-Identifier: Apache-2.0
//
// What an action waits for, said once: verify, lower, simulate and the executor all read it here.
//
//   F(s,k)    after F(s-1,k)                           the stage's input
//   B, I(s,k) after F(s,k) and the B or I of (s+1,k)   a B hands its gradient on at its end
//   W(s,k)    after I(s,k)
//   with slices j:  F(s,k,j) also after F(s,k,j-1), since it reads the earlier keys and values;
//                   B, I(s,k,j) also after B or I (s,k,j+1), which gives it their gradients
//
// A result, the thing waited for, is one of three per (stage, micro-batch, slice): the output,
// the input gradient, the weight gradient. B makes the last two at once.
#pragma once

#include "headrace/schedule/schedule.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace headrace {

enum class ResultKind : std::uint8_t { Output, InputGrad, WeightGrad };

// Numbers all results of a schedule densely from 0, so that per-result state is a flat vector.
class ResultTable {
 public:
  explicit ResultTable(const Schedule& schedule)
      : stages_(static_cast<std::size_t>(schedule.stage_count())),
        micro_batches_(static_cast<std::size_t>(schedule.micro_batches)),
        slices_(static_cast<std::size_t>(schedule.slices)) {}

  [[nodiscard]] std::size_t size() const { return 3 * stages_ * micro_batches_ * slices_; }
  [[nodiscard]] std::size_t at(ResultKind kind, StageId stage, MicroBatchId k, int slice) const {
    const auto block = static_cast<std::size_t>(kind) * stages_ + stage.index();
    return (block * micro_batches_ + k.index()) * slices_ + static_cast<std::size_t>(slice);
  }

 private:
  std::size_t stages_;
  std::size_t micro_batches_;
  std::size_t slices_;
};

// One result that an action reads.
struct Need {
  ResultKind kind = ResultKind::Output;
  StageId stage;
  std::int16_t slice = 0;
  // True when it comes over a boundary between stages, so that it may have to be sent.
  bool crosses_stages = false;
};

// At most three, in the order of the picture above; for compute actions only, else empty.
struct Needs {
  std::array<Need, 3> items;
  std::size_t count = 0;

  [[nodiscard]] const Need* begin() const { return items.data(); }
  [[nodiscard]] const Need* end() const { return items.data() + count; }
};

// What the compute action `action` of a schedule with `stages` stages and `slices` slices reads.
[[nodiscard]] inline Needs needs_of(const Action& action, int stages, int slices) {
  Needs needs;
  const auto add = [&](ResultKind kind, int stage, int slice, bool crosses) {
    needs.items[needs.count++] = {kind, StageId(stage), static_cast<std::int16_t>(slice), crosses};
  };
  const int stage = action.stage.value;
  const int slice = action.slice;
  if (action.kind == ActionKind::Forward) {
    if (stage > 0) add(ResultKind::Output, stage - 1, slice, true);
    if (slice > 0) add(ResultKind::Output, stage, slice - 1, false);
  } else if (action.kind == ActionKind::Backward || action.kind == ActionKind::InputGrad) {
    add(ResultKind::Output, stage, slice, false);
    if (stage + 1 < stages) add(ResultKind::InputGrad, stage + 1, slice, true);
    if (slice + 1 < slices) add(ResultKind::InputGrad, stage, slice + 1, false);
  } else if (action.kind == ActionKind::WeightGrad) {
    add(ResultKind::InputGrad, stage, slice, false);
  }
  return needs;
}

}  // namespace headrace
