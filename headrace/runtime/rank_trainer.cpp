// SPDX-License-Identifier: Apache-2.0
#include "headrace/runtime/internal/rank_trainer.h"

#include "headrace/base/error.h"
#include "headrace/execute/executor.h"
#include "headrace/runtime/cpu_allocator.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>
#include <numeric>

namespace headrace::internal {
namespace {

// All forwards, micro-batch by micro-batch through the stages: in this order no rank can wait in a
// circle, whatever the placement.
Schedule evaluation_schedule(const Schedule& training, int micro_batches) {
  Schedule schedule;
  schedule.name = "evaluation";
  schedule.micro_batches = micro_batches;
  schedule.copies = {training.copies.front()};
  schedule.ranks.resize(training.ranks.size());
  for (int k = 0; k < micro_batches; ++k)
    for (int s = 0; s < training.stage_count(); ++s) {
      const Action action{ActionKind::Forward, false, 0, StageId(s), MicroBatchId(k)};
      schedule.ranks[schedule.rank_of(action.stage, action.micro_batch).index()].push_back(action);
    }
  return schedule;
}

}  // namespace

RankTrainer::RankTrainer(const TrainJob& job, Endpoint& endpoint)
    : job_(job),
      endpoint_(endpoint),
      held_before_(bytes_held_by(endpoint.rank())),
      runner_(job.network, job.partition, job.schedule, endpoint.rank(), job.seed, job.loss),
      exchange_(endpoint, runner_, job.timeout),
      optimizer_(job.optimizer, exchange_.owned()),
      evaluation_(evaluation_schedule(job.schedule, job.evaluation_micro_batches)) {
  reset_peak_bytes(endpoint.rank());
}

void RankTrainer::run(StepGate& gate, StepLog& log, Clock::time_point run_start) {
  for (std::int64_t step = 0; gate.opens(step); ++step) {
    RankReport report = train_step(step, run_start);
    const bool due = job_.evaluate_every > 0 && (step + 1) % job_.evaluate_every == 0;
    if (job_.evaluation != nullptr && (due || gate.closes_after(step))) evaluate(report);
    log.add(step, endpoint_.rank(), std::move(report));
  }
  peak_ = peak_bytes_of(endpoint_.rank()) - held_before_;
}

RankReport RankTrainer::train_step(std::int64_t step, Clock::time_point run_start) {
  RankReport report;
  runner_.begin_training(step, *job_.training);
  const StepContext context{pass_++, run_start, job_.timeout};
  report.timeline = run_step(job_.schedule, runner_, endpoint_, context);
  report.losses = runner_.losses();
  exchange_.add_tied_gradients(context.step);
  if (job_.optimizer.clip_norm > 0) report.grad_norm = clip(context.step);
  report.learning_rate = learning_rate_at(job_.optimizer, step, job_.steps);
  optimizer_.step(report.learning_rate);
  exchange_.share_tied_values(context.step);
  report.ended = Clock::now();
  return report;
}

double RankTrainer::clip(std::int64_t step) {
  const double norm = exchange_.global_norm(step);
  if (!std::isfinite(norm))
    throw ComputeError(
        fmt::format("step {}: the gradient norm is {}. The weights are as they were before this "
                    "step; lower the learning rate.",
                    step, norm));
  // As PyTorch's clip_grad_norm_ does it, so that runs can be compared.
  const double scale = job_.optimizer.clip_norm / (norm + 1e-6);
  if (scale < 1.0)
    for (Parameter* parameter : exchange_.owned())
      if (parameter->has_grad) parameter->grad.mul_(scale);
  return norm;
}

// Enough micro-batches under way to keep every stage busy, and no more.
EvaluationPace RankTrainer::evaluation_pace(std::int64_t pass) {
  const Placement& place = job_.schedule.copies.front();
  const RankId first = place.front();
  const RankId last = place.back();
  if (first == last) return {};  // its list takes one micro-batch after the other
  const int ahead = 2 * job_.schedule.stage_count();
  const auto before_input = [=, this](int k) {
    if (k >= ahead) exchange_.wait_for_loss(last, pass, k - ahead);
  };
  const auto after_loss = [=, this](int k) {
    if (k + ahead < job_.evaluation_micro_batches) exchange_.tell_loss_made(first, pass, k);
  };
  return {before_input, after_loss};
}

void RankTrainer::evaluate(RankReport& report) {
  const Clock::time_point start = Clock::now();
  const StepContext context{pass_++, start, job_.timeout};
  runner_.begin_evaluation(*job_.evaluation, job_.evaluation_micro_batches,
                           evaluation_pace(context.step));
  // The timeline of an evaluation says nothing about training.
  static_cast<void>(run_step(evaluation_, runner_, endpoint_, context));
  const auto& losses = runner_.losses();
  if (!losses.empty()) report.eval_loss = std::accumulate(losses.begin(), losses.end(), 0.0);
  report.evaluating = Clock::now() - start;
}

}  // namespace headrace::internal
