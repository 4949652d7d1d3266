// SPDX-License-Identifier: Apache-2.0
//
// Where in its rank's list each action stands.
#pragma once

#include "headrace/schedule/schedule.h"

#include <cstdint>
#include <vector>

namespace headrace::internal {

// One entry per (kind, stage, micro-batch, slice), for the kinds with a micro-batch.
class ActionIndex {
 public:
  explicit ActionIndex(const Schedule& schedule)
      : micro_batches_(static_cast<std::size_t>(schedule.micro_batches)),
        slices_(static_cast<std::size_t>(schedule.slices)),
        block_(static_cast<std::size_t>(schedule.stage_count()) * micro_batches_ * slices_),
        positions_(kIndexedKinds * block_, -1) {}

  static constexpr std::size_t kIndexedKinds = 8;  // Forward to RecvBackward
  [[nodiscard]] static bool holds(ActionKind kind) {
    return static_cast<std::size_t>(kind) < kIndexedKinds;
  }

  // Position in the list of the rank where the action belongs; -1 where it is missing.
  [[nodiscard]] std::int32_t at(ActionKind kind, StageId stage, MicroBatchId k, int slice) const {
    return positions_[place(kind, stage, k, slice)];
  }
  [[nodiscard]] std::int32_t at(const Action& a) const {
    return at(a.kind, a.stage, a.micro_batch, a.slice);
  }
  void set(const Action& a, std::int32_t position) {
    positions_[place(a.kind, a.stage, a.micro_batch, a.slice)] = position;
  }

 private:
  [[nodiscard]] std::size_t place(ActionKind kind, StageId stage, MicroBatchId k, int slice) const {
    return static_cast<std::size_t>(kind) * block_ +
           (stage.index() * micro_batches_ + k.index()) * slices_ + static_cast<std::size_t>(slice);
  }

  std::size_t micro_batches_;
  std::size_t slices_;
  std::size_t block_;
  std::vector<std::int32_t> positions_;
};

}  // namespace headrace::internal
