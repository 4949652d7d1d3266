// SPDX-License-Identifier: Apache-2.0
//
// Where the input of an action comes from, and where its result goes.
//
//            stage s-1          stage s           stage s+1
//   F        output ──────────► forward ────────► (to its F)
//   B, I     (to its B or I) ◄─ backward ◄─────── input gradient
//
// An arrow between stages of one rank passes through the store, any other through the endpoint.
#pragma once

#include "headrace/execute/executor.h"
#include "headrace/execute/internal/boundary_store.h"
#include "headrace/schedule/dependency.h"

#include <optional>

namespace headrace::internal {

[[nodiscard]] constexpr bool is_backward(ActionKind kind) {
  return kind == ActionKind::Backward || kind == ActionKind::InputGrad;
}

class BoundaryExchange {
 public:
  BoundaryExchange(const Schedule& schedule, Endpoint& endpoint, const StepContext& context)
      : schedule_(schedule), endpoint_(endpoint), context_(context), store_(schedule) {}

  // Waits for what crosses a boundary into `action`; empty where nothing does.
  [[nodiscard]] Values fetch(const Action& action);
  // Takes what the compute returned for `action` and hands it on at once. `width` is the number of
  // values that the forward of the same micro-batch took. Throws UsageError where the number of
  // values does not fit the boundary.
  void hand_on(const Action& action, Values values, std::size_t width);

  [[nodiscard]] BoundaryStore& store() { return store_; }

 private:
  // The value that crosses a boundary, and the rank at the other end.
  struct Crossing {
    ResultKind kind = ResultKind::Output;
    StageId stage;  // that makes the value
    RankId other;
  };

  [[nodiscard]] std::optional<Crossing> into(const Action& action) const;
  [[nodiscard]] std::optional<Crossing> out_of(const Action& action) const;
  [[nodiscard]] MessageName name_of(const Crossing& crossing, const Action& action) const;
  [[nodiscard]] Deadline deadline() const;

  const Schedule& schedule_;
  Endpoint& endpoint_;
  const StepContext& context_;
  BoundaryStore store_;
};

}  // namespace headrace::internal
