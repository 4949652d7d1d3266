// SPDX-License-Identifier: Apache-2.0
//
// Masks are functions of where they are used: order, rank and schedule do not matter.
#include "headrace/models/initial.h"
#include "headrace/models/network.h"
#include "tests/models/close.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

namespace headrace {
namespace {

using test::expect_close;
using test::kTraining;
using test::leaves_of;
using test::norm;
using test::small_shape;

GptShape dropping_shape() {
  GptShape shape = small_shape();
  shape.dropout = 0.25;
  return shape;
}

TEST(DropoutMask, KeepsTheShareItShould) {
  const at::Tensor mask = dropout_mask(at::empty({100, 100}), 0.25, 1, 2, 3, 0, "site");
  const at::Tensor dropped = mask.eq(0);
  // Four deviations of the share among 10,000 draws.
  EXPECT_NEAR(dropped.to(at::kDouble).mean().item<double>(), 0.25, 4 * 0.433 / 100);
  EXPECT_EQ(mask.max().item<float>(), static_cast<float>(1 / 0.75));
  EXPECT_TRUE(at::equal(mask.gt(0), dropped.logical_not()));
}

TEST(DropoutMask, DependsOnEveryPartOfItsPlaceAndOnNothingElse) {
  const at::Tensor like = at::empty({8, 8});
  const at::Tensor mask = dropout_mask(like, 0.5, 1, 2, 3, 0, "site");
  EXPECT_TRUE(at::equal(mask, dropout_mask(like.t(), 0.5, 1, 2, 3, 0, "site")));
  EXPECT_FALSE(at::equal(mask, dropout_mask(like, 0.5, 9, 2, 3, 0, "site"))) << "seed";
  EXPECT_FALSE(at::equal(mask, dropout_mask(like, 0.5, 1, 9, 3, 0, "site"))) << "step";
  EXPECT_FALSE(at::equal(mask, dropout_mask(like, 0.5, 1, 2, 9, 0, "site"))) << "micro-batch";
  EXPECT_FALSE(at::equal(mask, dropout_mask(like, 0.5, 1, 2, 3, 9, "site"))) << "slice";
  EXPECT_FALSE(at::equal(mask, dropout_mask(like, 0.5, 1, 2, 3, 0, "else"))) << "site";
}

TEST(Dropout, HasTheGradientOfItsFormula) {
  const auto layer = gpt_network(dropping_shape()).layers[2].make(1);
  auto leaf = leaves_of(*layer);
  const at::Tensor x = normal_weights(1, "x", {2, 16, 32}, 1.0).requires_grad_();
  const at::Tensor dy = normal_weights(1, "dy", {2, 16, 32}, 1.0);
  const at::Tensor n = norm(x, leaf["h.0.ln_2.weight"], leaf["h.0.ln_2.bias"]);
  const at::Tensor wide = n.matmul(leaf["h.0.mlp.c_fc.weight"]) + leaf["h.0.mlp.c_fc.bias"];
  const at::Tensor narrow =
      at::gelu(wide, "tanh").matmul(leaf["h.0.mlp.c_proj.weight"]) + leaf["h.0.mlp.c_proj.bias"];
  const at::Tensor mask = dropout_mask(x, 0.25, kTraining.seed, kTraining.step,
                                       kTraining.micro_batch, kTraining.slice, "h.0.mlp");
  const at::Tensor y = x + narrow * mask;
  torch::autograd::backward({y}, {dy});

  const c10::NoGradGuard guard;
  Saved saved;
  const Tensors out = layer->forward({x.detach()}, kTraining, &saved);
  expect_close(out[0], y, "output");
  const Tensors dx = layer->backward({dy}, std::move(saved), kTraining, nullptr);
  expect_close(dx[0], x.grad(), "input gradient");
  test::expect_grads(*layer, leaf);
}

// Two micro-batches under way at once, as a pipeline has them, against one after the other.
TEST(Dropout, DoesNotDependOnTheOrderOfMicroBatches) {
  const c10::NoGradGuard guard;
  for (const LayerSpec& spec : gpt_network(dropping_shape()).layers) {
    const at::Tensor x = spec.name == "embedding" ? at::arange(32).view({2, 16})
                                                  : normal_weights(1, "x", {2, 16, 32}, 1.0);
    LayerContext first = kTraining;
    LayerContext second = kTraining;
    second.micro_batch = first.micro_batch + 1;
    const auto a = spec.make(1);
    const auto b = spec.make(1);
    Saved a0, a1, b0, b1;
    const Tensors ya0 = a->forward({x}, first, &a0);
    const Tensors da0 = a->backward(ya0, std::move(a0), first, nullptr);
    const Tensors ya1 = a->forward({x}, second, &a1);
    const Tensors da1 = a->backward(ya1, std::move(a1), second, nullptr);
    const Tensors yb1 = b->forward({x}, second, &b1);
    const Tensors yb0 = b->forward({x}, first, &b0);
    const Tensors db0 = b->backward(yb0, std::move(b0), first, nullptr);
    const Tensors db1 = b->backward(yb1, std::move(b1), second, nullptr);
    EXPECT_TRUE(at::equal(ya0[0], yb0[0]) && at::equal(ya1[0], yb1[0])) << spec.name;
    EXPECT_EQ(at::equal(ya0[0], ya1[0]), spec.name == "head") << spec.name;
    if (da0[0].defined()) {
      EXPECT_TRUE(at::equal(da0[0], db0[0]) && at::equal(da1[0], db1[0])) << spec.name;
    }
    for (std::size_t i = 0; i < a->parameters().size(); ++i)
      EXPECT_TRUE(at::equal(a->parameters()[i]->grad, b->parameters()[i]->grad)) << spec.name;
  }
}

TEST(Dropout, IsOffInEvaluation) {
  const c10::NoGradGuard guard;
  LayerContext evaluation = kTraining;
  evaluation.training = false;
  const auto dropping = gpt_network(dropping_shape()).layers[1].make(1);
  const auto plain = gpt_network(small_shape()).layers[1].make(1);
  const at::Tensor x = normal_weights(1, "x", {2, 16, 32}, 1.0);
  EXPECT_TRUE(at::equal(dropping->forward({x}, evaluation, nullptr)[0],
                        plain->forward({x}, kTraining, nullptr)[0]));
}

}  // namespace
}  // namespace headrace
