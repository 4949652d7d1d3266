// SPDX-License-Identifier: Apache-2.0
//
// A plain multi-layer perceptron over token data: each token predicts the next by itself.
//
//   embedding [V, C] ─► hidden.0 ─► hidden.1 ─► ... ─► head [C, V]
#pragma once

#include "headrace/models/network.h"

#include <cstdint>

namespace headrace {

struct MlpShape {
  int layers = 4;  // hidden ones: GELU(x W + b), C to C
  std::int64_t d_model = 128;
  std::int64_t vocabulary = 256;
};

// Input: token numbers [B, T] of int64. Output: logits [B * T, V].
[[nodiscard]] Network mlp_network(const MlpShape& shape);

}  // namespace headrace
