// SPDX-License-Identifier: Apache-2.0
//
// What each stage's actions cost: time, memory, message size.
#pragma once

#include "headrace/base/units.h"

#include <optional>
#include <vector>

namespace headrace {

// Times are per action of one micro-batch (of one slice, where there are any) on a rank of speed 1.
struct StageCost {
  Time forward{};
  Time input_grad{};  // a fused backward takes input_grad + weight_grad
  Time weight_grad{};
  Time recompute{};
  Time update{};  // the optimizer step of this stage

  Bytes weights{};  // one version of them
  Bytes gradients{};
  Bytes optimizer{};
  Bytes activation{};           // held from the start of F until its release
  Bytes freed_by_input_grad{};  // the part of it that I releases; W releases the rest, B all
  Bytes working{};              // needed in addition while an action runs
  Bytes output{};  // one message to the next stage; the gradient coming back is as large

  bool operator==(const StageCost&) const = default;
};

// The times of one micro-batch on one stage, where they differ from the stage's own.
struct ActionTimes {
  Time forward{};
  Time input_grad{};
  Time weight_grad{};

  bool operator==(const ActionTimes&) const = default;
};

struct StageCosts {
  std::vector<StageCost> stages;
  // per_micro_batch[s][k * slices + j] replaces the times of stage s; empty means: all are alike.
  std::vector<std::vector<ActionTimes>> per_micro_batch;
  // An overlapped pair takes this long; none means the sum of its halves.
  std::optional<Time> pair;

  bool operator==(const StageCosts&) const = default;
};

// `stages` equal stages, times only: the costs of the closed forms.
[[nodiscard]] StageCosts uniform_costs(int stages, Time forward, Time input_grad, Time weight_grad);

}  // namespace headrace
