// SPDX-License-Identifier: Apache-2.0
//
// The life of one rank: its stages, its optimizer, its steps.
#pragma once

#include "headrace/runtime/internal/step_log.h"
#include "headrace/runtime/optimizer.h"
#include "headrace/runtime/step_exchange.h"
#include "headrace/runtime/trainer.h"
#include "headrace/transport/endpoint.h"

#include <memory>
#include <mutex>
#include <optional>

namespace headrace::internal {

// Decides once per step, for all ranks alike, whether it still runs: the first rank that asks
// decides.
class StepGate {
 public:
  StepGate(const std::atomic<bool>& stop, std::int64_t steps) : stop_(stop), end_(steps) {}

  // Thread-safe. Every rank asks for the steps 0, 1, 2, ... in turn.
  [[nodiscard]] bool opens(std::int64_t step) {
    const std::lock_guard lock(mutex_);
    if (step >= decided_ && stop_.load() && step < end_) end_ = step;
    decided_ = std::max(decided_, step + 1);
    return step < end_;
  }
  // Whether this is the last step; only then is asked, so that nothing changes afterwards.
  [[nodiscard]] bool closes_after(std::int64_t step) { return !opens(step + 1); }

 private:
  const std::atomic<bool>& stop_;
  std::mutex mutex_;
  std::int64_t decided_ = 0;
  std::int64_t end_;
};

class RankTrainer {
 public:
  // Called, like everything here, in the thread of the rank.
  RankTrainer(const TrainJob& job, Endpoint& endpoint);

  void run(StepGate& gate, StepLog& log, Clock::time_point run_start);

  [[nodiscard]] const StageRunner& stages() const { return runner_; }
  [[nodiscard]] const Optimizer& optimizer() const { return optimizer_; }
  [[nodiscard]] Bytes peak() const { return peak_; }

 private:
  [[nodiscard]] RankReport train_step(std::int64_t step, Clock::time_point run_start);
  [[nodiscard]] double clip(std::int64_t step);
  void evaluate(RankReport& report);
  [[nodiscard]] EvaluationPace evaluation_pace(std::int64_t pass);

  const TrainJob& job_;
  Endpoint& endpoint_;
  Bytes held_before_;
  StageRunner runner_;
  StepExchange exchange_;
  Optimizer optimizer_;
  Schedule evaluation_;
  std::int64_t pass_ = 0;  // counts training steps and evaluations, for message names
  Bytes peak_;
};

}  // namespace headrace::internal
