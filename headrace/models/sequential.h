// SPDX-License-Identifier: Apache-2.0
//
// Any torch::nn::Sequential as a network: each child is a layer.
#pragma once

#include "headrace/models/network.h"

#include <torch/nn/modules/container/sequential.h>

namespace headrace {

// The children keep their weights, which training changes; parameters are named CHILD.PARAMETER as
// in the module. A tensor that does not require a gradient is frozen; one that two children share
// is refused with UsageError. Children are differentiated by autograd, one graph per layer, which
// never leaves it. FLOPs are not known, so they are counted as twice the parameters for each row.
//
// PyTorch's modules that draw random numbers (Dropout and its kin, RReLU, MultiheadAttention, RNNs)
// draw those of (seed, step, micro-batch, layer), in any depth inside a child. What a module of
// your own draws from PyTorch's generator depends on the order in which ranks run. Buffers that a
// forward changes, such as BatchNorm's averages, change micro-batch by micro-batch. A child must
// not overwrite its input: PyTorch refuses it.
[[nodiscard]] Network sequential_network(torch::nn::Sequential sequential);

}  // namespace headrace
