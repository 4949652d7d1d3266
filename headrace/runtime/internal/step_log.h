// SPDX-License-Identifier: Apache-2.0
//
// Puts together what the ranks say of each step. Ranks run ahead of each other, so several steps
// may be open at once; a step is closed by the last rank that reports it.
#pragma once

#include "headrace/runtime/trainer.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

namespace headrace::internal {

using Clock = std::chrono::steady_clock;

// What one rank knows of one step.
struct RankReport {
  RankTimeline timeline;
  std::vector<double> losses;  // per micro-batch; only on the rank of the last stage
  double grad_norm = 0;
  double learning_rate = 0;
  Clock::time_point ended{};  // after the update
  Clock::duration evaluating{};
  std::optional<double> eval_loss;  // only on the rank of the last stage
};

class StepLog {
 public:
  StepLog(const TrainJob& job, std::function<void(const StepReport&)> progress);

  // Thread-safe. Times in `report.timeline` count from the start of the run.
  void add(std::int64_t step, RankId rank, RankReport report);

  // Fills in all but weights, optimizer state, peak bytes and digest. Call when all ranks ended.
  void write(TrainResult& result) const;

 private:
  struct Open {
    std::vector<RankReport> ranks;
    int reported = 0;
  };

  void close(std::int64_t step, Open open);

  const TrainJob& job_;
  std::function<void(const StepReport&)> progress_;
  std::mutex mutex_;
  std::map<std::int64_t, Open> open_;
  Clock::time_point last_end_;
  std::vector<double> losses_;
  std::vector<double> norms_;
  std::vector<double> step_seconds_;
  std::optional<double> eval_loss_;
  std::deque<Timeline> recent_;  // the last steps, for the bubbles
  std::vector<int> peak_live_;
};

}  // namespace headrace::internal
