// SPDX-License-Identifier: Apache-2.0
//
// What crosses a boundary: any number of values of any type, held by whoever works with them.
#include "headrace/models/loss.h"
#include "headrace/runtime/trainer.h"
#include "headrace/schedule/basic.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>

namespace headrace {
namespace {

using Forward = std::function<Tensors(const Tensors&, Saved*)>;
using Backward = std::function<Tensors(Tensors, Saved)>;

class FunctionLayer : public Layer {
 public:
  FunctionLayer(const std::string& name, Forward forward, Backward backward)
      : Layer(name), forward_(std::move(forward)), backward_(std::move(backward)) {}
  Tensors forward(Tensors input, const LayerContext&, Saved* saved) override {
    return forward_(input, saved);
  }
  Tensors backward(Tensors output_grad, Saved saved, const LayerContext&,
                   WeightGradWork*) override {
    return backward_(std::move(output_grad), std::move(saved));
  }

 private:
  Forward forward_;
  Backward backward_;
};

void add_layer(Network& network, Forward forward, Backward backward) {
  LayerSpec spec;
  spec.name = "layer." + std::to_string(network.layers.size());
  spec.make = [=](std::uint64_t) {
    return std::make_unique<FunctionLayer>(spec.name, forward, backward);
  };
  network.layers.push_back(spec);
}

class Ones : public BatchSource {
 public:
  at::Tensor inputs(std::int64_t, int) const override { return at::ones({2, 3}); }
  at::Tensor targets(std::int64_t, int) const override { return at::zeros({2}, at::kLong); }
  std::int64_t total_targets(std::int64_t) const override { return 2; }
};

TrainResult run(const Network& network, LossFunction loss) {
  const Ones source;
  TrainJob job;
  job.network = network;
  job.schedule = one_f_one_b(static_cast<int>(network.layers.size()), 3);
  job.partition = partition_from_counts(std::vector<int>(network.layers.size(), 1),
                                        static_cast<int>(network.layers.size()));
  job.loss = std::move(loss);
  job.training = &source;
  job.steps = 2;
  return Trainer(std::move(job)).run();
}

double no_loss(Tensors& /*outputs*/, const at::Tensor&, std::int64_t, bool) {
  return 0;
}

TEST(HandOver, CountsForTheRankThatHoldsTheValue) {
  constexpr std::int64_t kMega = 1 << 20;
  Network network;
  add_layer(
      network, [](const Tensors&, Saved*) -> Tensors { return {at::ones({kMega}, at::kFloat)}; },
      [](Tensors, Saved) -> Tensors { return {at::Tensor()}; });
  add_layer(
      network,
      [](const Tensors& input, Saved* saved) -> Tensors {
        saved->tensors = input;
        return {at::ones({1})};
      },
      [](Tensors, Saved) -> Tensors { return {at::ones({1})}; });
  const TrainResult result = run(network, no_loss);
  // Rank 1 makes nothing larger than one number; it holds what rank 0 made.
  EXPECT_GE(result.peak_bytes[1], Bytes(4 * kMega));
  EXPECT_LT(result.peak_bytes[1], Bytes(4 * kMega + 4096));
}

// A float, a whole and a yes-or-no value cross twice; only the first has a gradient.
TEST(HandOver, PassesSeveralValuesOfAnyTypeAndShape) {
  const auto pass = [](const Tensors& input, Saved*) -> Tensors {
    EXPECT_EQ(input.at(0).sizes(), (at::IntArrayRef{2, 3}));
    EXPECT_TRUE(at::equal(input.at(1), at::arange(5, at::kLong)));
    EXPECT_TRUE(at::equal(input.at(2), at::ones({1, 4}, at::kBool)));
    return {input.at(0) * 2, input.at(1), input.at(2)};
  };
  std::vector<double> gradients;
  Network network;
  add_layer(
      network,
      [](const Tensors& input, Saved*) -> Tensors {
        return {input.at(0) * 3, at::arange(5, at::kLong), at::ones({1, 4}, at::kBool)};
      },
      [&](Tensors grads, Saved) -> Tensors {
        EXPECT_EQ(grads.size(), 3u);
        EXPECT_FALSE(grads.at(1).defined());
        EXPECT_FALSE(grads.at(2).defined());
        gradients.push_back(grads.at(0).sum().item<double>());
        return {at::Tensor()};
      });
  add_layer(network, pass, [](Tensors grads, Saved) -> Tensors {
    return {grads.at(0) * 2, at::Tensor(), at::Tensor()};
  });
  add_layer(network, pass, [](Tensors grads, Saved) -> Tensors {
    return {grads.at(0) * 2, at::Tensor(), at::Tensor()};
  });
  const TrainResult result =
      run(network, [](Tensors& outputs, const at::Tensor&, std::int64_t, bool with_grad) {
        const double sum = outputs.at(0).sum().item<double>();
        if (with_grad) outputs = {at::ones({2, 3}), at::Tensor(), at::Tensor()};
        return sum;
      });
  // 6 elements of 1 * 3 * 2 * 2, in three micro-batches.
  EXPECT_EQ(result.loss, (std::vector<double>{216, 216}));
  EXPECT_EQ(gradients, std::vector<double>(6, 24.0));
}

// A layer that uses nothing of its input sends back no gradient at all.
TEST(HandOver, PassesThatThereIsNoGradient) {
  int calls = 0;
  Network network;
  add_layer(
      network, [](const Tensors& input, Saved*) -> Tensors { return {input.at(0) * 3}; },
      [&](Tensors grads, Saved) -> Tensors {
        EXPECT_EQ(grads.size(), 1u);
        EXPECT_FALSE(grads.at(0).defined());
        ++calls;
        return {at::Tensor()};
      });
  add_layer(
      network, [](const Tensors&, Saved*) -> Tensors { return {at::ones({1})}; },
      [](Tensors, Saved) -> Tensors { return {}; });
  EXPECT_EQ(run(network, no_loss).loss, (std::vector<double>{0, 0}));
  EXPECT_EQ(calls, 6);
}

}  // namespace
}  // namespace headrace
