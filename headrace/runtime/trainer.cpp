// SPDX-License-Identifier: Apache-2.0
#include "headrace/runtime/trainer.h"

#include "headrace/base/error.h"
#include "headrace/execute/rank_threads.h"
#include "headrace/runtime/cpu_allocator.h"
#include "headrace/runtime/digest.h"
#include "headrace/runtime/internal/rank_trainer.h"
#include "headrace/runtime/internal/step_log.h"
#include "headrace/schedule/verify.h"
#include "headrace/transport/in_process.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace headrace {
namespace {

using internal::RankTrainer;

// Names what training does not run, and what to use instead; empty where it runs all.
std::pair<std::string, std::string> not_run(const Schedule& schedule) {
  if (schedule.slices != 1)
    return {fmt::format("cuts sequences into {} slices", schedule.slices),
            "a schedule without slices"};
  if (schedule.copies.size() > 1)
    return {fmt::format("keeps {} copies of each stage", schedule.copies.size()),
            "a schedule with one"};
  if (schedule.weights.rule != WeightRule::Synchronous)
    return {"updates weights within the step", "a synchronous schedule"};
  for (const auto& list : schedule.ranks)
    for (const Action& action : list)
      if (!is_compute(action.kind) && !is_send(action.kind) && !is_receive(action.kind))
        return {fmt::format("has {}", to_text(action)), "a schedule without it"};
  return {};
}

bool has_backward(const Schedule& schedule) {
  for (const auto& list : schedule.ranks)
    for (const Action& a : list)
      if (a.kind == ActionKind::Backward || a.kind == ActionKind::InputGrad) return true;
  return false;
}

void check_job(const TrainJob& job) {
  check_trainable(job.schedule);
  const auto stages = static_cast<std::size_t>(job.schedule.stage_count());
  if (job.partition.stages.size() != stages)
    throw UsageError(fmt::format("the cut has {} stages, but the schedule has {}",
                                 job.partition.stages.size(), stages));
  if (job.partition.layer_count() != static_cast<int>(job.network.layers.size()))
    throw UsageError(fmt::format("the cut covers {} layers, but the network has {}",
                                 job.partition.layer_count(), job.network.layers.size()));
  if (job.steps < 1 || job.threads_per_rank < 1)
    throw UsageError(fmt::format("{} steps with {} threads per rank; both must be 1 or more",
                                 job.steps, job.threads_per_rank));
  HEADRACE_CHECK(job.training != nullptr && job.loss != nullptr, "a job without batches or loss");
}

// Weights and optimizer state of all ranks in the network's order. A further use of a parameter
// equals its owner; that is checked, not assumed.
void collect(const std::vector<std::unique_ptr<RankTrainer>>& ranks, TrainResult& result) {
  std::map<std::int64_t, Parameter*> parameters;
  std::map<std::string, at::Tensor> state;
  for (const auto& rank : ranks) {
    for (const PlacedParameter& placed : rank->stages().parameters())
      parameters.emplace(placed.order, placed.parameter);
    for (auto& [name, tensor] : rank->optimizer().state()) state.emplace(name, tensor);
    result.peak_bytes.push_back(rank->peak());
  }
  std::map<std::string, at::Tensor> owners;
  for (const auto& [order, parameter] : parameters) {
    if (!parameter->tied_to.empty()) {
      HEADRACE_CHECK(at::equal(parameter->value, owners.at(parameter->tied_to)),
                     "{} differs from {}, which it is tied to", parameter->name,
                     parameter->tied_to);
      continue;
    }
    owners.emplace(parameter->name, parameter->value);
    result.weights.push_back({parameter->name, parameter->value});
    const std::string prefix = parameter->name + ".";
    for (const char* part : {"momentum", "exp_avg", "exp_avg_sq", "step"})
      if (const auto found = state.find(prefix + part); found != state.end())
        result.optimizer.push_back({found->first, found->second});
  }
}

}  // namespace

void check_trainable(const Schedule& schedule) {
  if (const auto violations = verify(schedule); !violations.empty())
    throw UsageError(
        fmt::format("schedule {} breaks a rule: {}", schedule.name, violations.front().message));
  if (const auto [what, instead] = not_run(schedule); !what.empty())
    throw UsageError(fmt::format("schedule {} {}, which training does not run; use {}",
                                 schedule.name, what, instead));
  if (!has_backward(schedule))
    throw UsageError(
        fmt::format("schedule {} has forwards only; training needs a backward", schedule.name));
}

Trainer::Trainer(TrainJob job) : job_(std::move(job)) {
  check_job(job_);
}

TrainResult Trainer::run(const std::function<void(const StepReport&)>& progress) {
  install_cpu_allocator();
  const int count = job_.schedule.rank_count();
  auto endpoints = in_process_endpoints(count);
  std::vector<std::unique_ptr<RankTrainer>> ranks(endpoints.size());
  internal::StepGate gate(stop_, job_.steps);
  internal::StepLog log(job_, progress);
  const auto start = internal::Clock::now();

  const auto body = [&](RankId rank) {
    // Once per thread and first: it decides how every later kernel of this thread runs.
    at::set_num_threads(job_.threads_per_rank);
    const c10::NoGradGuard no_grad;
    charge_this_thread_to(rank);
    Endpoint& endpoint = *endpoints[rank.index()];
    ranks[rank.index()] = std::make_unique<RankTrainer>(job_, endpoint);
    ranks[rank.index()]->run(gate, log, start);
  };
  run_ranks(count, body, [&](const std::string& why) { endpoints.front()->abort(why); });

  TrainResult result;
  log.write(result);
  result.stopped = static_cast<int>(result.loss.size()) < job_.steps;
  collect(ranks, result);
  result.digest = digest_of(result.loss, result.weights, result.optimizer);
  return result;
}

}  // namespace headrace
