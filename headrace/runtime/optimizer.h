// SPDX-License-Identifier: Apache-2.0
//
// The optimizer of one rank's parameters: AdamW (Loshchilov and Hutter 2019) by PyTorch's fused
// kernel, or SGD with momentum.
#pragma once

#include "headrace/config/train_config.h"
#include "headrace/models/parameter.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace headrace {

// Linear warm-up to `learning_rate`, then a cosine down to `min_learning_rate` at the last step.
// `step` counts from 0.
[[nodiscard]] double learning_rate_at(const OptimizerConfig& config, std::int64_t step,
                                      std::int64_t steps);

class Optimizer {
 public:
  // `parameters` stay the caller's; order decides nothing.
  Optimizer(const OptimizerConfig& config, std::vector<Parameter*> parameters);

  // One update from the gradients. Parameters that got no gradient this step stay as they are.
  void step(double learning_rate);

  // State tensors by name, "wte.weight.exp_avg", in the order of the parameters.
  [[nodiscard]] std::vector<std::pair<std::string, at::Tensor>> state() const;

 private:
  struct Slot {
    Parameter* parameter = nullptr;
    at::Tensor first;   // exp_avg, or the momentum buffer
    at::Tensor second;  // exp_avg_sq
    at::Tensor count;   // updates so far, float32 as the kernel wants it
  };

  void adamw(double learning_rate, bool decays);
  void sgd(double learning_rate);

  OptimizerConfig config_;
  std::vector<Slot> slots_;
};

}  // namespace headrace
