// SPDX-License-Identifier: Apache-2.0
//
// Any torch::nn::Sequential runs as a pipeline, and equals itself run whole under plain autograd.
#include "headrace/models/sequential.h"

#include "headrace/models/loss.h"
#include "headrace/runtime/cpu_allocator.h"
#include "headrace/runtime/trainer.h"
#include "headrace/schedule/basic.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/modules.h>
#include <torch/utils.h>

namespace headrace {
namespace {

constexpr int kSteps = 3;
constexpr int kRows = 3;
constexpr int kClasses = 5;
constexpr float kRate = 0.125f;

// Modules without parameters, one that keeps its output for its backward (Tanh) also at the end,
// where the loss overwrites what it gets.
torch::nn::Sequential small_sequential() {
  torch::manual_seed(11);
  return torch::nn::Sequential(torch::nn::Linear(6, 12), torch::nn::Tanh(),
                               torch::nn::LayerNorm(torch::nn::LayerNormOptions({12})),
                               torch::nn::ReLU(), torch::nn::Linear(12, kClasses),
                               torch::nn::Tanh());
}

class Points : public BatchSource {
 public:
  at::Tensor inputs(std::int64_t step, int micro_batch) const override {
    const auto first = static_cast<double>(10 * step + micro_batch);
    return at::arange(kRows * 6, at::kFloat).add_(first).sin_().view({kRows, 6});
  }
  at::Tensor targets(std::int64_t step, int micro_batch) const override {
    return at::arange(kRows, at::kLong).add_(step + micro_batch).remainder_(kClasses);
  }
  std::int64_t total_targets(std::int64_t) const override { return 100; }
};

std::vector<at::Tensor> trained_whole(int micro_batches) {
  torch::nn::Sequential network = small_sequential();
  const Points points;
  for (int step = 0; step < kSteps; ++step) {
    network->zero_grad();
    for (int k = 0; k < micro_batches; ++k) {
      const at::Tensor y = network->forward(points.inputs(step, k));
      at::Tensor grad = y.detach().clone();
      static_cast<void>(cross_entropy(grad, points.targets(step, k), 100, true));
      torch::autograd::backward({y}, {grad});
    }
    const torch::NoGradGuard no_grad;
    for (at::Tensor& parameter : network->parameters()) parameter.sub_(parameter.grad() * kRate);
  }
  return network->parameters();
}

TrainResult trained_in_stages(const std::vector<int>& cut, int micro_batches) {
  const Points points;
  TrainJob job;
  job.network = sequential_network(small_sequential());
  job.partition = partition_from_counts(cut, 6);
  job.schedule = one_f_one_b(static_cast<int>(cut.size()), micro_batches);
  job.loss = token_cross_entropy();
  job.training = &points;
  job.steps = kSteps;
  job.optimizer.kind = "sgd";
  job.optimizer.momentum = 0;
  job.optimizer.weight_decay = 0;
  job.optimizer.learning_rate = kRate;
  job.optimizer.min_learning_rate = kRate;
  return Trainer(std::move(job)).run();
}

TEST(Sequential, EqualsPlainAutogradForEveryCut) {
  install_cpu_allocator();
  at::set_num_threads(1);
  for (const int m : {1, 4, 7}) {
    const auto whole = trained_whole(m);
    for (const auto& cut : std::vector<std::vector<int>>{
             {6}, {1, 5}, {2, 4}, {3, 3}, {5, 1}, {1, 1, 2, 1, 1}, {1, 1, 1, 1, 1, 1}}) {
      const TrainResult staged = trained_in_stages(cut, m);
      ASSERT_EQ(staged.weights.size(), whole.size());
      for (std::size_t i = 0; i < whole.size(); ++i)
        EXPECT_TRUE(at::equal(staged.weights[i].tensor, whole[i].detach()))
            << staged.weights[i].name << " with " << cut.size() << " stages, m=" << m;
    }
  }
}

TEST(Sequential, ClipsWhereStagesHaveNoParameters) {
  install_cpu_allocator();
  const Points points;
  const auto norm = [&](const std::vector<int>& cut) {
    TrainJob job;
    job.network = sequential_network(small_sequential());
    job.partition = partition_from_counts(cut, 6);
    job.schedule = one_f_one_b(static_cast<int>(cut.size()), 2);
    job.loss = token_cross_entropy();
    job.training = &points;
    job.steps = kSteps;
    job.optimizer.clip_norm = 0.01;
    return Trainer(std::move(job)).run();
  };
  const TrainResult one = norm({6});
  const TrainResult six = norm({1, 1, 1, 1, 1, 1});
  EXPECT_EQ(six.grad_norm, one.grad_norm);
  EXPECT_EQ(six.digest, one.digest);
  EXPECT_GT(one.grad_norm.front(), 0);
}

}  // namespace
}  // namespace headrace
