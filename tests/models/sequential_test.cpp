// SPDX-License-Identifier: Apache-2.0
//
// A torch::nn::Sequential, child by child, against itself under plain autograd.
#include "headrace/models/sequential.h"

#include "headrace/base/error.h"
#include "headrace/models/initial.h"
#include "tests/models/close.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/utils.h>

namespace headrace {
namespace {

namespace nn = torch::nn;
using test::kTraining;

// All layers forwards and then backwards; gives the output.
class Walk {
 public:
  explicit Walk(nn::Sequential module) {
    for (const LayerSpec& spec : sequential_network(std::move(module)).layers)
      layers.push_back(spec.make(1));
  }

  at::Tensor forward(const at::Tensor& x, const LayerContext& context, std::vector<Saved>& saved) {
    const c10::NoGradGuard guard;
    saved.resize(layers.size());
    Tensors values{x};
    for (std::size_t i = 0; i < layers.size(); ++i)
      values = layers[i]->forward(std::move(values), context, &saved[i]);
    return values[0];
  }

  at::Tensor backward(const at::Tensor& dy, const LayerContext& context, std::vector<Saved> saved) {
    const c10::NoGradGuard guard;
    Tensors values{dy};
    for (std::size_t i = layers.size(); i-- > 0;)
      values = layers[i]->backward(std::move(values), std::move(saved[i]), context, nullptr);
    return values[0];
  }

  std::vector<Parameter*> parameters() const {
    std::vector<Parameter*> all;
    for (const auto& layer : layers)
      all.insert(all.end(), layer->parameters().begin(), layer->parameters().end());
    return all;
  }

  std::vector<std::unique_ptr<Layer>> layers;
};

TEST(Sequential, GivesTheGradientsOfTheModule) {
  nn::Sequential module(nn::Linear(4, 8), nn::Tanh(), nn::Linear(8, 3));
  const at::Tensor x = normal_weights(1, "x", {5, 4}, 1.0);
  const at::Tensor dy = normal_weights(1, "dy", {5, 3}, 1.0);
  torch::autograd::backward({module->forward(x)}, {dy});
  std::vector<at::Tensor> expected;
  for (at::Tensor& p : module->parameters()) {
    expected.push_back(p.grad().clone());
    p.mutable_grad().reset();
  }
  Walk walk(module);
  std::vector<Saved> saved;
  static_cast<void>(walk.forward(x, kTraining, saved));
  const at::Tensor dx = walk.backward(dy, kTraining, std::move(saved));
  EXPECT_EQ(dx.sizes(), x.sizes());
  const auto own = walk.parameters();
  ASSERT_EQ(own.size(), 4u);
  for (std::size_t i = 0; i < own.size(); ++i) {
    EXPECT_TRUE(at::equal(own[i]->grad, expected[i])) << own[i]->name;
    EXPECT_FALSE(own[i]->value.grad().defined()) << "left in the module's own place";
  }
}

TEST(Sequential, NamesLayersAndParametersAsTheModuleDoes) {
  const nn::Sequential module(
      {{"words", nn::AnyModule(nn::Embedding(7, 4))},
       {"mix", nn::AnyModule(nn::Linear(nn::LinearOptions(4, 2).bias(false)))}});
  const Network network = sequential_network(module);
  ASSERT_EQ(network.layers.size(), 2u);
  EXPECT_EQ(network.layers[0].name, "words");
  EXPECT_EQ(network.layers[0].parameters, 28);
  EXPECT_EQ(network.layers[1].make(1)->parameters().at(0)->name, "mix.weight");
}

// Token numbers have no gradient, and nothing comes before them.
TEST(Sequential, TakesNumbersThatHaveNoGradient) {
  Walk walk(nn::Sequential(nn::Embedding(7, 4), nn::Linear(4, 2)));
  std::vector<Saved> saved;
  const at::Tensor y = walk.forward(at::tensor({1, 2, 1}, at::kLong), kTraining, saved);
  EXPECT_FALSE(walk.backward(at::ones_like(y), kTraining, std::move(saved)).defined());
  EXPECT_TRUE(walk.parameters().front()->has_grad);
}

TEST(Sequential, LeavesFrozenWeightsWithoutGradient) {
  nn::Linear first(4, 4);
  first->weight.set_requires_grad(false);
  Walk walk(nn::Sequential(first, nn::Linear(4, 2)));
  std::vector<Saved> saved;
  const at::Tensor y = walk.forward(at::ones({3, 4}), kTraining, saved);
  static_cast<void>(walk.backward(at::ones_like(y), kTraining, std::move(saved)));
  const auto own = walk.parameters();
  EXPECT_EQ(own[0]->name, "0.weight");
  EXPECT_FALSE(own[0]->has_grad);
  EXPECT_TRUE(own[1]->has_grad && own[2]->has_grad && own[3]->has_grad);
}

TEST(Sequential, RefusesAWeightThatTwoChildrenShare) {
  const nn::Linear shared(4, 4);
  try {
    static_cast<void>(sequential_network(nn::Sequential(shared, nn::Tanh(), shared)));
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "the Sequential uses 0.weight again as 2.weight; give each child weights of its "
                 "own, or put all uses into one child");
  }
}

// A module of the user's, with dropout inside.
struct MixAndDropImpl : nn::Module {
  at::Tensor forward(const at::Tensor& x) { return drop(mix(x)); }
  nn::Linear mix = register_module("mix", nn::Linear(16, 16));
  nn::Dropout drop = register_module("drop", nn::Dropout(0.5));
};
TORCH_MODULE(MixAndDrop);

TEST(Sequential, DrawsTheSameNumbersInAnyOrder) {
  Walk walk(nn::Sequential(nn::Linear(16, 16), nn::Dropout(0.5), MixAndDrop(), nn::Dropout(0.5)));
  const at::Tensor x = normal_weights(1, "x", {8, 16}, 1.0);
  LayerContext second = kTraining;
  second.micro_batch = kTraining.micro_batch + 1;
  std::vector<Saved> saved;
  const at::Tensor a = walk.forward(x, kTraining, saved);
  const at::Tensor b = walk.forward(x, second, saved);
  static_cast<void>(at::rand({100}));
  EXPECT_TRUE(at::equal(walk.forward(x, second, saved), b));
  EXPECT_TRUE(at::equal(walk.forward(x, kTraining, saved), a));
  EXPECT_FALSE(at::equal(a, b));
  LayerContext evaluation = kTraining;
  evaluation.training = false;
  EXPECT_TRUE(at::equal(walk.forward(x, evaluation, saved), walk.forward(x, evaluation, saved)));
  EXPECT_EQ(walk.forward(x, evaluation, saved).eq(0).sum().item<std::int64_t>(), 0);
}

// Whoever else draws from PyTorch's generator does not notice.
TEST(Sequential, LeavesTheGeneratorAsItWas) {
  Walk walk(nn::Sequential(nn::Dropout(0.5)));
  torch::manual_seed(5);
  const at::Tensor expected = at::rand({4});
  torch::manual_seed(5);
  std::vector<Saved> saved;
  static_cast<void>(walk.forward(at::ones({10}), kTraining, saved));
  EXPECT_TRUE(at::equal(at::rand({4}), expected));
}

TEST(Sequential, RefusesAChildThatOverwritesItsInput) {
  Walk walk(nn::Sequential(nn::Linear(4, 4), nn::ReLU(nn::ReLUOptions().inplace(true))));
  std::vector<Saved> saved;
  EXPECT_THROW(static_cast<void>(walk.forward(at::ones({2, 4}), kTraining, saved)), c10::Error);
}

TEST(Sequential, RefusesToBeEmpty) {
  EXPECT_THROW(static_cast<void>(sequential_network(nn::Sequential())), UsageError);
}

}  // namespace
}  // namespace headrace
