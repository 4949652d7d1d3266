// SPDX-License-Identifier: Apache-2.0
//
// Any torch::nn::Sequential as a network: each child is a layer.
#pragma once

#include "headrace/models/network.h"

#include <torch/nn/modules/container/sequential.h>

namespace headrace {

// The children keep their weights; parameters are named CHILD.PARAMETER as in the module. They are
// differentiated by autograd, one graph per layer, which never leaves it. FLOPs are not known, so
// they are counted as twice the parameters for each row.
[[nodiscard]] Network sequential_network(torch::nn::Sequential sequential);

}  // namespace headrace
