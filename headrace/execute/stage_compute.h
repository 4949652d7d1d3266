// SPDX-License-Identifier: Apache-2.0
//
// What one rank can compute. The runtime implements it with tensors, tests with arithmetic.
#pragma once

#include "headrace/schedule/action.h"
#include "headrace/transport/message.h"

#include <cstdint>
#include <vector>

namespace headrace {

// The values of a stage boundary; empty before the first stage and after the last.
using Values = std::vector<Buffer>;

// Called by the thread of its rank only, in the order of the rank's list. An exception ends the
// step on all ranks; the executor adds rank, action, stage and micro-batch to its message.
class StageCompute {
 public:
  virtual ~StageCompute() = default;

  // F: takes the output of the stage before (empty on stage 0, which reads its batch itself) and
  // returns this stage's output (empty on the last, which computes the loss).
  [[nodiscard]] virtual Values forward(const Action& action, Values input) = 0;

  // B or I: takes the gradient of this stage's output (empty on the last stage) and returns that of
  // its input (empty on stage 0): one buffer per input buffer, undefined where there is none, or
  // nothing at all where there is no gradient of any. After B, and for a layer that does not know
  // the split after I, everything kept for the micro-batch is free.
  [[nodiscard]] virtual Values backward(const Action& action, Values output_grad) = 0;

  // W: runs the weight-gradient work that I put off.
  virtual void weight_grad(const Action& action) = 0;

  // The other kinds. What a compute cannot do it refuses: supports() says so before the first
  // action of a step runs, and these throw UsageError unless they are overridden.
  [[nodiscard]] virtual bool supports(ActionKind kind) const { return is_compute(kind); }
  virtual void recompute(const Action& action);
  virtual void evict(const Action& action);
  virtual void load(const Action& action);
  virtual void reduce_grad(const Action& action);
  virtual void update(const Action& action);

  // Bytes this rank holds now, for the memory curve; 0 where they are not counted.
  [[nodiscard]] virtual std::int64_t bytes_held() const { return 0; }
};

}  // namespace headrace
