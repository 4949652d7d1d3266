// SPDX-License-Identifier: Apache-2.0
#include "headrace/cost/stage_costs.h"

namespace headrace {

StageCosts uniform_costs(int stages, Time forward, Time input_grad, Time weight_grad) {
  StageCost stage;
  stage.forward = forward;
  stage.input_grad = input_grad;
  stage.weight_grad = weight_grad;
  StageCosts costs;
  costs.stages.assign(static_cast<std::size_t>(stages), stage);
  return costs;
}

}  // namespace headrace
