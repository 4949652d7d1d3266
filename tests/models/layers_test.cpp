// SPDX-License-Identifier: Apache-2.0
//
// The layers' own backward against plain autograd over the same formulas.
#include "headrace/models/gpt.h"
#include "headrace/models/initial.h"
#include "headrace/models/loss.h"
#include "headrace/models/mlp.h"
#include "headrace/models/sequential.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/linear.h>

#include <cmath>

namespace headrace {
namespace {

const LayerContext kTraining{true, 3, 5, 2, 0};

GptShape small_shape() {
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
std::map<std::string, at::Tensor> leaves_of(const Layer& layer) {
  std::map<std::string, at::Tensor> leaves;
  for (const Parameter* p : layer.parameters()) leaves[p->name] = p->value.clone().requires_grad_();
  return leaves;
}

// Float32 rounding of sums of a few hundred terms in another order, against the largest element:
// small ones are what is left of large terms that cancel.
void expect_close(const at::Tensor& a, const at::Tensor& b, const std::string& what) {
  const double most = b.abs().max().item<double>();
  EXPECT_LE((a - b).abs().max().item<double>(), 4e-6 * most) << what << ", largest " << most;
}

void expect_grads(const Layer& layer, std::map<std::string, at::Tensor>& leaves) {
  for (const Parameter* p : layer.parameters()) {
    ASSERT_TRUE(p->has_grad) << p->name;
    expect_close(p->grad, leaves[p->name].grad(), p->name);
  }
}

at::Tensor norm(const at::Tensor& x, const at::Tensor& w, const at::Tensor& b) {
  const at::Tensor centered = x - x.mean(-1, true);
  return centered / (centered.square().mean(-1, true) + 1e-5).sqrt() * w + b;
}

TEST(GptLayers, AttentionHasTheGradientOfItsFormula) {
  const auto layer = gpt_network(small_shape()).layers[1].make(1);
  ASSERT_EQ(layer->name(), "h.0.attn");
  auto leaf = leaves_of(*layer);
  const at::Tensor x = normal_weights(1, "x", {2, 16, 32}, 1.0).requires_grad_();
  const at::Tensor dy = normal_weights(1, "dy", {2, 16, 32}, 1.0);

  const at::Tensor n = norm(x, leaf["h.0.ln_1.weight"], leaf["h.0.ln_1.bias"]);
  const at::Tensor qkv = n.matmul(leaf["h.0.attn.c_attn.weight"]) + leaf["h.0.attn.c_attn.bias"];
  const auto parts = qkv.view({2, 16, 3, 4, 8}).permute({2, 0, 3, 1, 4}).unbind(0);
  at::Tensor scores = parts[0].matmul(parts[1].transpose(-1, -2)) / std::sqrt(8.0);
  const at::Tensor mask = at::ones({16, 16}, at::kBool).triu(1);
  scores = scores.masked_fill(mask, -INFINITY).softmax(-1);
  const at::Tensor mixed = scores.matmul(parts[2]).transpose(1, 2).reshape({2, 16, 32});
  const at::Tensor y =
      x + mixed.matmul(leaf["h.0.attn.c_proj.weight"]) + leaf["h.0.attn.c_proj.bias"];
  torch::autograd::backward({y}, {dy});

  const c10::NoGradGuard guard;
  Saved saved;
  const Tensors out = layer->forward({x.detach()}, kTraining, &saved);
  expect_close(out[0], y, "output");
  const Tensors dx = layer->backward({dy}, std::move(saved), kTraining, nullptr);
  expect_close(dx[0], x.grad(), "input gradient");
  expect_grads(*layer, leaf);
}

TEST(GptLayers, MlpHasTheGradientOfItsFormula) {
  const auto layer = gpt_network(small_shape()).layers[4].make(1);
  ASSERT_EQ(layer->name(), "h.1.mlp");
  auto leaf = leaves_of(*layer);
  const at::Tensor x = normal_weights(1, "x", {2, 16, 32}, 1.0).requires_grad_();
  const at::Tensor dy = normal_weights(1, "dy", {2, 16, 32}, 1.0);
  const at::Tensor n = norm(x, leaf["h.1.ln_2.weight"], leaf["h.1.ln_2.bias"]);
  const at::Tensor wide = n.matmul(leaf["h.1.mlp.c_fc.weight"]) + leaf["h.1.mlp.c_fc.bias"];
  const at::Tensor gelu =
      0.5 * wide * (1 + (std::sqrt(2 / M_PI) * (wide + 0.044715 * wide.pow(3))).tanh());
  const at::Tensor y = x + gelu.matmul(leaf["h.1.mlp.c_proj.weight"]) + leaf["h.1.mlp.c_proj.bias"];
  torch::autograd::backward({y}, {dy});

  const c10::NoGradGuard guard;
  Saved saved;
  const Tensors out = layer->forward({x.detach()}, kTraining, &saved);
  expect_close(out[0], y, "output");
  const Tensors dx = layer->backward({dy}, std::move(saved), kTraining, nullptr);
  expect_close(dx[0], x.grad(), "input gradient");
  expect_grads(*layer, leaf);
}

TEST(GptLayers, EmbeddingAndHeadHaveTheGradientOfTheirFormulas) {
  const Network network = gpt_network(small_shape());
  const auto embedding = network.layers.front().make(1);
  const auto head = network.layers.back().make(1);
  auto leaf = leaves_of(*embedding);
  for (auto& [name, tensor] : leaves_of(*head)) leaf[name] = tensor;
  const at::Tensor tokens = at::arange(32).remainder(7).view({2, 16});
  const at::Tensor x = leaf["wte.weight"].index({tokens}) + leaf["wpe.weight"];
  const at::Tensor y = norm(x, leaf["ln_f.weight"], leaf["ln_f.bias"])
                           .view({32, 32})
                           .matmul(leaf["lm_head.weight"].t());
  const at::Tensor dy = normal_weights(1, "dy", {32, 256}, 1.0);
  torch::autograd::backward({y}, {dy});

  const c10::NoGradGuard guard;
  Saved first;
  Saved last;
  Tensors values = embedding->forward({tokens}, kTraining, &first);
  values = head->forward(std::move(values), kTraining, &last);
  expect_close(values[0], y, "logits");
  Tensors grads = head->backward({dy}, std::move(last), kTraining, nullptr);
  grads = embedding->backward(std::move(grads), std::move(first), kTraining, nullptr);
  EXPECT_FALSE(grads[0].defined());
  expect_grads(*embedding, leaf);
  expect_grads(*head, leaf);
}

TEST(GptLayers, AccumulateInPlaceOverMicroBatches) {
  const auto layer = gpt_network(small_shape()).layers[2].make(1);
  const c10::NoGradGuard guard;
  const auto pass = [&](int k) {
    const at::Tensor x = normal_weights(1, "x" + std::to_string(k), {2, 16, 32}, 1.0);
    Saved saved;
    Tensors y = layer->forward({x}, kTraining, &saved);
    static_cast<void>(layer->backward(std::move(y), std::move(saved), kTraining, nullptr));
  };
  Parameter& weight = *layer->parameters()[2];
  pass(0);
  const void* buffer = weight.grad.data_ptr();
  const at::Tensor one = weight.grad.clone();
  pass(1);
  EXPECT_EQ(weight.grad.data_ptr(), buffer);
  EXPECT_FALSE(at::equal(weight.grad, one));
  // A new step forgets what the buffer held, also where that was not a number.
  weight.grad.fill_(NAN);
  for (Parameter* p : layer->parameters()) p->has_grad = false;
  pass(0);
  EXPECT_TRUE(at::equal(weight.grad, one));
}

TEST(GptLayers, SplitBackwardGivesTheSameBits) {
  const Network network = gpt_network(small_shape());
  const c10::NoGradGuard guard;
  for (const LayerSpec& spec : network.layers) {
    const auto whole = spec.make(1);
    const auto split = spec.make(1);
    const at::Tensor x = spec.name == "embedding" ? at::arange(32).view({2, 16})
                                                  : normal_weights(1, "x", {2, 16, 32}, 1.0);
    Saved a;
    Saved b;
    Tensors ya = whole->forward({x}, kTraining, &a);
    Tensors yb = split->forward({x}, kTraining, &b);
    static_cast<void>(whole->backward(std::move(ya), std::move(a), kTraining, nullptr));
    WeightGradWork later;
    static_cast<void>(split->backward(std::move(yb), std::move(b), kTraining, &later));
    EXPECT_FALSE(later.empty()) << spec.name;
    for (auto& work : later) work();
    for (std::size_t i = 0; i < whole->parameters().size(); ++i)
      EXPECT_TRUE(at::equal(whole->parameters()[i]->grad, split->parameters()[i]->grad))
          << whole->parameters()[i]->name;
  }
}

TEST(Gpt, HasTheNamesAndShapesOfGpt2) {
  GptShape shape = small_shape();
  shape.tied_head = true;
  std::vector<std::string> names;
  std::int64_t count = 0;
  const Network network = gpt_network(shape);
  for (const LayerSpec& spec : network.layers) {
    std::int64_t own = 0;
    const auto layer = spec.make(1);
    for (const Parameter* p : layer->parameters()) {
      names.push_back(p->name);
      if (p->tied_to.empty()) own += p->value.numel();
    }
    EXPECT_EQ(own, spec.parameters) << spec.name;
    count += own;
  }
  EXPECT_EQ(names.size(), 2u + 2u * 12u + 3u);
  EXPECT_EQ(names[2], "h.0.ln_1.weight");
  EXPECT_EQ(names[4], "h.0.attn.c_attn.weight");
  EXPECT_EQ(names.back(), "lm_head.weight");
  EXPECT_EQ(count, 256 * 32 + 16 * 32 + 2 * (12 * 32 * 32 + 13 * 32) + 2 * 32);
}

TEST(Initial, DependsOnSeedAndNameOnly) {
  const at::Tensor a = normal_weights(1, "w", {1000}, 0.5);
  EXPECT_TRUE(at::equal(a, normal_weights(1, "w", {1000}, 0.5)));
  EXPECT_FALSE(at::equal(a, normal_weights(2, "w", {1000}, 0.5)));
  EXPECT_FALSE(at::equal(a, normal_weights(1, "v", {1000}, 0.5)));
  EXPECT_NEAR(a.mean().item<double>(), 0.0, 4 * 0.5 / std::sqrt(1000.0));
  EXPECT_NEAR(a.std().item<double>(), 0.5, 0.05);
}

TEST(Dropout, KeepsTheShareItShouldAndRepeats) {
  const at::Tensor like = at::empty({100, 100});
  const at::Tensor mask = dropout_mask(like, 0.25, 1, 2, 3, 0, "site");
  EXPECT_TRUE(at::equal(mask, dropout_mask(like, 0.25, 1, 2, 3, 0, "site")));
  EXPECT_FALSE(at::equal(mask, dropout_mask(like, 0.25, 1, 2, 4, 0, "site")));
  EXPECT_NEAR(mask.eq(0).to(at::kDouble).mean().item<double>(), 0.25, 0.02);
  EXPECT_EQ(mask.max().item<float>(), static_cast<float>(1 / 0.75));
}

TEST(CrossEntropy, EqualsPyTorchsAndLeavesTheGradient) {
  at::Tensor logits = normal_weights(1, "logits", {300, 1000}, 3.0);
  at::Tensor targets = at::arange(300).mul(7).remainder(1000);
  targets[5] = kIgnoredTarget;
  const at::Tensor leaf = logits.clone().requires_grad_();
  const at::Tensor expected =
      at::cross_entropy_loss(leaf, targets, {}, at::Reduction::Sum, kIgnoredTarget) / 299;
  expected.backward();
  EXPECT_EQ(counted_targets(targets), 299);
  const double loss = cross_entropy(logits, targets, 299, true);
  EXPECT_NEAR(loss, expected.item<double>(), 1e-6 * loss);
  expect_close(logits, leaf.grad(), "gradient");
  EXPECT_EQ(logits[5].abs().max().item<float>(), 0.0f);
}

TEST(Sequential, GivesTheGradientsOfTheModule) {
  torch::nn::Sequential module(torch::nn::Linear(4, 8), torch::nn::Tanh(), torch::nn::Linear(8, 3));
  const at::Tensor x = normal_weights(1, "x", {5, 4}, 1.0);
  const at::Tensor dy = normal_weights(1, "dy", {5, 3}, 1.0);
  torch::autograd::backward({module->forward(x)}, {dy});
  std::vector<at::Tensor> expected;
  for (const at::Tensor& p : module->parameters()) expected.push_back(p.grad().clone());
  for (at::Tensor& p : module->parameters()) p.mutable_grad().reset();

  const Network network = sequential_network(module);
  ASSERT_EQ(network.layers.size(), 3u);
  std::vector<std::unique_ptr<Layer>> layers;
  std::vector<Saved> saved(3);
  const c10::NoGradGuard guard;
  Tensors values{x};
  for (std::size_t i = 0; i < 3; ++i) {
    layers.push_back(network.layers[i].make(1));
    values = layers[i]->forward(std::move(values), kTraining, &saved[i]);
  }
  values = {dy};
  for (std::size_t i = 3; i-- > 0;)
    values = layers[i]->backward(std::move(values), std::move(saved[i]), kTraining, nullptr);
  std::size_t at = 0;
  for (const auto& layer : layers)
    for (const Parameter* p : layer->parameters())
      EXPECT_TRUE(at::equal(p->grad, expected[at++])) << p->name;
  EXPECT_EQ(at, 4u);
}

}  // namespace
}  // namespace headrace
