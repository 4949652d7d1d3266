// SPDX-License-Identifier: Apache-2.0
//
// The layers' own backward against plain autograd over the same formulas.
#include "headrace/models/gpt.h"
#include "headrace/models/initial.h"
#include "headrace/models/mlp.h"
#include "tests/models/close.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

namespace headrace {
namespace {

using test::expect_close;
using test::expect_grads;
using test::kTraining;
using test::leaves_of;
using test::norm;
using test::small_shape;

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

TEST(MlpLayers, HaveTheGradientOfTheirFormulas) {
  const Network network = mlp_network({2, 16, 50});
  std::vector<std::unique_ptr<Layer>> layers;
  std::map<std::string, at::Tensor> leaf;
  for (const LayerSpec& spec : network.layers) {
    layers.push_back(spec.make(1));
    for (auto& [name, tensor] : leaves_of(*layers.back())) leaf[name] = tensor;
  }
  const at::Tensor tokens = at::arange(24).remainder(7).view({3, 8});
  at::Tensor x = leaf["embedding.weight"].index({tokens.view({-1})});
  for (const char* name : {"hidden.0", "hidden.1"}) {
    const std::string prefix = name;
    const at::Tensor wide = x.matmul(leaf[prefix + ".weight"]) + leaf[prefix + ".bias"];
    x = 0.5 * wide * (1 + (std::sqrt(2 / M_PI) * (wide + 0.044715 * wide.pow(3))).tanh());
  }
  const at::Tensor y = x.matmul(leaf["head.weight"]) + leaf["head.bias"];
  const at::Tensor dy = normal_weights(1, "dy", {24, 50}, 1.0);
  torch::autograd::backward({y}, {dy});

  const c10::NoGradGuard guard;
  std::vector<Saved> saved(layers.size());
  Tensors values{tokens};
  for (std::size_t i = 0; i < layers.size(); ++i)
    values = layers[i]->forward(std::move(values), kTraining, &saved[i]);
  expect_close(values[0], y, "logits");
  values = {dy};
  for (std::size_t i = layers.size(); i-- > 0;)
    values = layers[i]->backward(std::move(values), std::move(saved[i]), kTraining, nullptr);
  EXPECT_FALSE(values[0].defined());
  for (const auto& layer : layers) expect_grads(*layer, leaf);
}

// 3 rows and 1 give what 4 rows give at once, up to the order of the sums.
TEST(GptLayers, GradientsAddUpOverUnevenMicroBatches) {
  const c10::NoGradGuard guard;
  for (const LayerSpec& spec : gpt_network(small_shape()).layers) {
    const auto cut = spec.make(1);
    const auto whole = spec.make(1);
    const at::Tensor x = spec.name == "embedding" ? at::arange(64).remainder(9).view({4, 16})
                                                  : normal_weights(1, "x", {4, 16, 32}, 1.0);
    const auto pass = [&](Layer& layer, std::int64_t first, std::int64_t rows) {
      Saved saved;
      Tensors y = layer.forward({x.narrow(0, first, rows)}, kTraining, &saved);
      y[0].mul_(0.25);
      static_cast<void>(layer.backward(std::move(y), std::move(saved), kTraining, nullptr));
    };
    pass(*cut, 0, 3);
    pass(*cut, 3, 1);
    pass(*whole, 0, 4);
    for (std::size_t i = 0; i < cut->parameters().size(); ++i)
      expect_close(cut->parameters()[i]->grad, whole->parameters()[i]->grad,
                   cut->parameters()[i]->name);
  }
}

// Whoever holds the last reference frees the memory: nothing may stay behind in a layer.
TEST(GptLayers, HoldNothingAfterTheBackward) {
  const c10::NoGradGuard guard;
  for (const bool split : {false, true})
    for (const LayerSpec& spec : gpt_network(small_shape()).layers) {
      const auto layer = spec.make(1);
      const at::Tensor x = spec.name == "embedding" ? at::arange(32).view({2, 16})
                                                    : normal_weights(1, "x", {2, 16, 32}, 1.0);
      Saved saved;
      const Tensors y = layer->forward({x}, kTraining, &saved);
      const std::vector<at::Tensor> kept = saved.tensors;
      WeightGradWork later;
      static_cast<void>(layer->backward(y, std::move(saved), kTraining, split ? &later : nullptr));
      for (auto& work : later) work();
      later.clear();
      for (std::size_t i = 0; i < kept.size(); ++i) {
        const bool input = kept[i].is_same(x);
        EXPECT_EQ(kept[i].use_count(), input ? 2u : 1u) << spec.name << ", saved " << i;
      }
      EXPECT_EQ(y[0].use_count(), 1u) << spec.name;
    }
}

// Evaluation keeps nothing for a backward that never comes, and gives the same output.
TEST(GptLayers, GiveTheSameOutputWithoutSaving) {
  const c10::NoGradGuard guard;
  for (const LayerSpec& spec : gpt_network(small_shape()).layers) {
    const auto layer = spec.make(1);
    const at::Tensor x = spec.name == "embedding" ? at::arange(32).view({2, 16})
                                                  : normal_weights(1, "x", {2, 16, 32}, 1.0);
    const at::Tensor before = x.clone();
    Saved saved;
    const Tensors with = layer->forward({x}, kTraining, &saved);
    const Tensors without = layer->forward({x}, kTraining, nullptr);
    EXPECT_TRUE(at::equal(with[0], without[0])) << spec.name;
    EXPECT_TRUE(at::equal(x, before)) << spec.name << " changed its input";
  }
}

}  // namespace
}  // namespace headrace
