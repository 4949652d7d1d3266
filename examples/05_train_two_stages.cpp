// SPDX-License-Identifier: Apache-2.0
//
// Trains a torch::nn::Sequential through two stages on two ranks, under 1F1B, and again under
// GPipe: the result is the same, bit for bit.
//
//   rank 0   Linear 1 -> 32, Tanh        F0 F1 .  .  B0 F2 B1 F3 B2 .  B3
//   rank 1   Linear 32 -> 2              .  F0 B0 F1 B1 .  F2 B2 F3 B3 .
//
// Run:      build/example_05_train_two_stages
// Expected: step 0: loss 0.72
//           step 199: loss 0.03
//           1F1B and GPipe agree bit for bit
#include "headrace/models/sequential.h"
#include "headrace/runtime/trainer.h"
#include "headrace/schedule/basic.h"

#include <ATen/ATen.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/linear.h>
#include <torch/utils.h>

#include <cstdio>
#include <vector>

// Is a number between -1 and 1 in the middle half? Every micro-batch brings 8 numbers.
class Middle : public headrace::BatchSource {
 public:
  at::Tensor inputs(std::int64_t step, int micro_batch) const override {
    const at::Tensor place = at::arange(8, at::kFloat) * 7.3 + (13.7 * step + 3.1 * micro_batch);
    return place.sin().view({8, 1});
  }
  at::Tensor targets(std::int64_t step, int micro_batch) const override {
    return (inputs(step, micro_batch).abs() < 0.5).to(at::kLong).view({8});
  }
  std::int64_t total_targets(std::int64_t /*step*/) const override { return 4 * 8; }
};

headrace::TrainResult train(headrace::Schedule schedule, const Middle& middle) {
  torch::manual_seed(1);
  headrace::TrainJob job;
  job.network = headrace::sequential_network(
      torch::nn::Sequential(torch::nn::Linear(1, 32), torch::nn::Tanh(), torch::nn::Linear(32, 2)));
  job.partition = headrace::partition_from_counts(std::vector{2, 1}, 3);  // two layers, then one
  job.schedule = std::move(schedule);
  job.loss = headrace::token_cross_entropy();
  job.training = &middle;
  job.steps = 200;
  job.optimizer.learning_rate = 0.03;
  return headrace::Trainer(std::move(job)).run();
}

int main() {
  const Middle middle;
  const int ranks = 2;
  const int micro_batches = 4;
  const auto result = train(headrace::one_f_one_b(ranks, micro_batches), middle);
  for (const std::size_t step : {std::size_t{0}, std::size_t{199}})
    std::printf("step %zu: loss %.2f\n", step, result.loss[step]);
  const auto again = train(headrace::gpipe(ranks, micro_batches), middle);
  std::printf("1F1B and GPipe %s\n",
              result.digest == again.digest ? "agree bit for bit" : "differ");
  return result.digest == again.digest ? 0 : 1;
}
