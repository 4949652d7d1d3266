// SPDX-License-Identifier: Apache-2.0
//
// What waits on a rank for a later action of the same rank.
#pragma once

#include "headrace/base/error.h"
#include "headrace/execute/stage_compute.h"
#include "headrace/schedule/dependency.h"

#include <cstddef>
#include <map>
#include <utility>

namespace headrace::internal {

// A rank holds one copy of a stage at most, so stage, micro-batch and slice name a value.
class BoundaryStore {
 public:
  explicit BoundaryStore(const Schedule& schedule) : table_(schedule) {}

  // The result `kind` that `action` made.
  void put(ResultKind kind, const Action& action, Values values) {
    const bool added = values_.emplace(at(kind, action.stage, action), std::move(values)).second;
    HEADRACE_CHECK(added, "{} ran twice", to_text(action, true));
  }

  // The result `kind` of `stage`, for the micro-batch and slice of `action`.
  [[nodiscard]] Values take(ResultKind kind, StageId stage, const Action& action) {
    auto node = values_.extract(at(kind, stage, action));
    HEADRACE_CHECK(!node.empty(), "{} runs before stage {} made its input", to_text(action, true),
                   stage.value);
    return std::move(node.mapped());
  }

  // How many buffers the forward took: as many gradients must come back.
  void note_width(const Action& forward, std::size_t width) {
    widths_[at(ResultKind::Output, forward.stage, forward)] = width;
  }
  [[nodiscard]] std::size_t take_width(const Action& backward) {
    auto node = widths_.extract(at(ResultKind::Output, backward.stage, backward));
    HEADRACE_CHECK(!node.empty(), "{} runs before its forward", to_text(backward, true));
    return node.mapped();
  }

  [[nodiscard]] bool empty() const { return values_.empty(); }

 private:
  [[nodiscard]] std::size_t at(ResultKind kind, StageId stage, const Action& action) const {
    return table_.at(kind, stage, action.micro_batch, action.slice);
  }

  ResultTable table_;
  std::map<std::size_t, Values> values_;
  std::map<std::size_t, std::size_t> widths_;
};

}  // namespace headrace::internal
