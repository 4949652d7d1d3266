// SPDX-License-Identifier: Apache-2.0
//
// A Sequential that draws random numbers trains to the same bits under any cut, although all ranks
// are threads of one process with one generator.
#include "headrace/models/sequential.h"
#include "headrace/runtime/cpu_allocator.h"
#include "headrace/runtime/trainer.h"
#include "headrace/schedule/basic.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/nn/modules.h>
#include <torch/utils.h>

namespace headrace {
namespace {

constexpr int kRows = 4;
constexpr int kWidth = 6;

class Points : public BatchSource {
 public:
  at::Tensor inputs(std::int64_t step, int micro_batch) const override {
    const auto first = static_cast<double>(10 * step + micro_batch);
    return at::arange(kRows * kWidth, at::kFloat).add_(first).sin_().view({kRows, kWidth});
  }
  at::Tensor targets(std::int64_t step, int micro_batch) const override {
    return at::arange(kRows, at::kLong).add_(step + micro_batch).remainder_(kWidth);
  }
  std::int64_t total_targets(std::int64_t) const override { return 100; }
};

torch::nn::Sequential dropping_sequential() {
  torch::manual_seed(11);
  using torch::nn::Linear;
  return torch::nn::Sequential(Linear(kWidth, kWidth), torch::nn::Dropout(0.5), torch::nn::Tanh(),
                               Linear(kWidth, kWidth), torch::nn::Dropout(0.25),
                               Linear(kWidth, kWidth));
}

TrainResult trained(const std::vector<int>& cut) {
  const Points points;
  TrainJob job;
  job.network = sequential_network(dropping_sequential());
  job.partition = partition_from_counts(cut, 6);
  job.schedule = one_f_one_b(static_cast<int>(cut.size()), 5);
  job.loss = token_cross_entropy();
  job.training = &points;
  job.steps = 4;
  job.optimizer.clip_norm = 0.5;
  return Trainer(std::move(job)).run();
}

TEST(Sequential, WithDropoutIsTheSameForEveryCut) {
  install_cpu_allocator();
  at::set_num_threads(1);
  const TrainResult whole = trained({6});
  for (const auto& cut :
       std::vector<std::vector<int>>{{1, 5}, {2, 4}, {4, 2}, {2, 2, 2}, {1, 1, 1, 1, 1, 1}}) {
    const TrainResult staged = trained(cut);
    EXPECT_EQ(staged.loss, whole.loss) << cut.size() << " stages";
    EXPECT_EQ(staged.digest, whole.digest) << cut.size() << " stages";
  }
}

}  // namespace
}  // namespace headrace
