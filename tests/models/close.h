// SPDX-License-Identifier: Apache-2.0
//
// What the tests of layers share: formulas over autograd leaves, and how close is close.
#pragma once

#include "headrace/models/gpt.h"
#include "headrace/models/layer.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace headrace::test {

inline const LayerContext kTraining{true, 3, 5, 2, 0};

inline GptShape small_shape() {
  GptShape shape;
  shape.layers = 2;
  shape.d_model = 32;
  shape.heads = 4;
  shape.d_hidden = 128;
  shape.sequence = 16;
  shape.tied_head = false;
  return shape;
}

// Leaves with the layer's values, for a formula written with plain operators.
inline std::map<std::string, at::Tensor> leaves_of(const Layer& layer) {
  std::map<std::string, at::Tensor> leaves;
  for (const Parameter* p : layer.parameters()) leaves[p->name] = p->value.clone().requires_grad_();
  return leaves;
}

// Float32 rounding of sums of a few hundred terms in another order, against the largest element:
// small ones are what is left of large terms that cancel.
inline void expect_close(const at::Tensor& a, const at::Tensor& b, const std::string& what) {
  ASSERT_EQ(a.sizes(), b.sizes()) << what;
  const double most = b.abs().max().item<double>();
  EXPECT_LE((a - b).abs().max().item<double>(), 4e-6 * most) << what << ", largest " << most;
}

inline void expect_grads(const Layer& layer, std::map<std::string, at::Tensor>& leaves) {
  for (const Parameter* p : layer.parameters()) {
    ASSERT_TRUE(p->has_grad) << p->name;
    expect_close(p->grad, leaves[p->name].grad(), p->name);
  }
}

inline at::Tensor norm(const at::Tensor& x, const at::Tensor& w, const at::Tensor& b) {
  const at::Tensor centered = x - x.mean(-1, true);
  return centered / (centered.square().mean(-1, true) + 1e-5).sqrt() * w + b;
}

}  // namespace headrace::test
