// SPDX-License-Identifier: Apache-2.0
//
// Trains a network through a pipeline: one thread per rank for the whole run.
//
//   rank 0   [ list of the step ][update][ list of the next step ] ...
//   rank 1     [ list of the step ][update] [ list of the next step ] ...
//
// No barrier: a rank updates its own stages when their gradients are complete and goes on. Only
// clipping and tied parameters make ranks wait for each other between steps.
#pragma once

#include "headrace/base/units.h"
#include "headrace/config/train_config.h"
#include "headrace/models/network.h"
#include "headrace/partition/partition.h"
#include "headrace/runtime/batch_source.h"
#include "headrace/runtime/stage_runner.h"
#include "headrace/schedule/schedule.h"
#include "headrace/timeline/timeline.h"

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headrace {

// All that a run is made of. The sources must outlive it; `schedule` must verify and have as many
// stages as `partition`.
struct TrainJob {
  Network network;
  Partition partition;
  Schedule schedule;
  LossFunction loss;
  const BatchSource* training = nullptr;
  const BatchSource* evaluation = nullptr;  // null: no evaluation
  int evaluation_micro_batches = 0;
  std::int64_t tokens_per_step = 0;  // for the speed figures
  std::uint64_t seed = 1;
  int steps = 1;
  int evaluate_every = 0;  // steps; 0: only at the end
  int threads_per_rank = 1;
  Time timeout = std::chrono::minutes(5);
  OptimizerConfig optimizer;
};

// Throws UsageError for a schedule that breaks a rule or that training does not run: one with
// sequence slices, copies of a stage, updates within the step, or without backwards.
void check_trainable(const Schedule& schedule);

// What is known when a step has ended on all ranks.
struct StepReport {
  std::int64_t step = 0;  // from 0
  double loss = 0;        // mean over the tokens of the batch
  double grad_norm = 0;   // before clipping; 0 without clipping
  double learning_rate = 0;
  double tokens_per_s = 0;
  double bubble = 0;                // measured, of this step
  std::optional<double> eval_loss;  // after this step, if evaluated then
  Time step_time{};
};

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

struct TrainResult {
  std::vector<double> loss;  // per step that ran
  std::vector<double> grad_norm;
  std::optional<double> eval_loss;  // at the end
  double tokens_per_s = 0;          // median over steps, the first left out
  double bubble_measured = 0;       // median over the last 20 steps
  double bubble_predicted = 0;      // the same, simulated from each step's own action times
  std::vector<Bytes> peak_bytes;    // per rank, all tensors
  std::vector<int> peak_live;       // per rank, activations as run
  bool stopped = false;             // by request_stop()
  Timeline last_step;
  std::vector<NamedTensor> weights;    // in the network's order, tied uses left out
  std::vector<NamedTensor> optimizer;  // state, in the same order
  std::string digest;  // SHA-256 over losses, weights and optimizer state, see digest.h
};

class Trainer {
 public:
  // Throws UsageError for a job that does not fit together.
  explicit Trainer(TrainJob job);

  // Runs all steps. `progress` is called once per step, in order, by one of the rank threads.
  // Throws the first failure of any rank, after all ranks have ended.
  [[nodiscard]] TrainResult run(const std::function<void(const StepReport&)>& progress = {});

  // Ends the run after the step that is under way, with everything as if that had been the last.
  // May be called from any thread and from a signal handler.
  void request_stop() noexcept { stop_.store(true); }

 private:
  TrainJob job_;
  std::atomic<bool> stop_{false};
};

}  // namespace headrace
