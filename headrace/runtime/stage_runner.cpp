// SPDX-License-Identifier: Apache-2.0
#include "headrace/runtime/stage_runner.h"

#include "headrace/base/error.h"
#include "headrace/models/loss.h"
#include "headrace/runtime/buffers.h"
#include "headrace/runtime/cpu_allocator.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace headrace {
namespace {

// What throws is named, a layer or the loss; the executor adds rank, action, stage and micro-batch.
template <class Call>
auto named(const std::string& place, const Call& call) {
  try {
    return call();
  } catch (const c10::Error& error) {
    throw ComputeError(fmt::format("{}: {}", place, error.what_without_backtrace()));
  } catch (const std::exception& error) {
    throw ComputeError(fmt::format("{}: {}", place, error.what()));
  } catch (...) {
    throw ComputeError(fmt::format("{}: threw something that is not a std::exception", place));
  }
}

template <class Call>
auto in_layer(const Layer& layer, const Call& call) {
  return named("layer " + layer.name(), call);
}

// What crossed from another stage is now held here.
Tensors received(Values values) {
  Tensors tensors = to_tensors(std::move(values));
  for (const at::Tensor& tensor : tensors) take_charge_of(tensor);
  return tensors;
}

}  // namespace

LossFunction token_cross_entropy() {
  return [](Tensors& outputs, const at::Tensor& targets, std::int64_t total, bool with_grad) {
    at::Tensor& logits = outputs.at(0);
    // The gradient overwrites them, and the last layer may have kept them for its backward.
    if (logits.storage().use_count() > 1) logits = logits.clone();
    return cross_entropy(logits, targets, total, with_grad);
  };
}

StageRunner::StageRunner(const Network& network, const Partition& partition,
                         const Schedule& schedule, RankId rank, std::uint64_t seed,
                         LossFunction loss)
    : rank_(rank),
      last_stage_(schedule.last_stage()),
      micro_batches_(schedule.micro_batches),
      seed_(seed),
      loss_(std::move(loss)) {
  for (const Placement& placement : schedule.copies)
    for (std::size_t s = 0; s < placement.size(); ++s) {
      if (placement[s] != rank) continue;
      auto& layers = stages_[StageId(static_cast<std::int64_t>(s))];
      const LayerRange range = partition.stages.at(s);
      for (int at = range.first; at < range.last; ++at) {
        layers.push_back(network.layers[static_cast<std::size_t>(at)].make(seed));
        const auto& own = layers.back()->parameters();
        for (std::size_t i = 0; i < own.size(); ++i)
          parameters_.push_back(
              {(std::int64_t{at} << 20) + static_cast<std::int64_t>(i), at, own[i]});
      }
    }
  std::sort(parameters_.begin(), parameters_.end(),
            [](const auto& a, const auto& b) { return a.order < b.order; });
  link_tied_parameters();
}

// Two uses of one parameter on one rank share its memory.
void StageRunner::link_tied_parameters() {
  for (const PlacedParameter& use : parameters_) {
    if (use.parameter->tied_to.empty()) continue;
    for (const PlacedParameter& owner : parameters_)
      if (owner.parameter->name == use.parameter->tied_to)
        use.parameter->value = owner.parameter->value;
  }
}

void StageRunner::begin_training(std::int64_t step, const BatchSource& source) {
  training_ = true;
  step_ = step;
  source_ = &source;
  pace_ = {};
  start_losses(micro_batches_);
  for (const PlacedParameter& placed : parameters_) placed.parameter->has_grad = false;
}

void StageRunner::begin_evaluation(const BatchSource& source, int micro_batches,
                                   EvaluationPace pace) {
  training_ = false;
  source_ = &source;
  pace_ = std::move(pace);
  start_losses(micro_batches);
}

void StageRunner::start_losses(int micro_batches) {
  if (stages_.count(last_stage_) > 0) losses_.assign(static_cast<std::size_t>(micro_batches), 0.0);
}

LayerContext StageRunner::context_of(const Action& action) const {
  return {training_, seed_, step_, action.micro_batch.value, action.slice};
}

Values StageRunner::forward(const Action& action, Values input) {
  const bool first = action.stage.value == 0;
  if (first && pace_.before_input) pace_.before_input(action.micro_batch.value);
  Tensors values = first ? Tensors{source_->inputs(step_, action.micro_batch.value)}
                         : received(std::move(input));
  const LayerContext context = context_of(action);
  Kept kept;
  for (const auto& layer : stages_.at(action.stage)) {
    Saved* saved = training_ ? &kept.layers.emplace_back() : nullptr;
    values = in_layer(*layer, [&] { return layer->forward(std::move(values), context, saved); });
  }
  const bool last = action.stage == last_stage_;
  if (last) make_loss(action, std::move(values), training_ ? &kept : nullptr);
  if (training_) kept_[{action.stage, action.micro_batch, action.slice}] = std::move(kept);
  return last ? Values{} : to_values(std::move(values));
}

void StageRunner::make_loss(const Action& action, Tensors outputs, Kept* kept) {
  const int k = action.micro_batch.value;
  const double loss = named("loss", [&] {
    return loss_(outputs, source_->targets(step_, k), source_->total_targets(step_),
                 kept != nullptr);
  });
  // Found here, before a backward follows, so that no rank can end this step and update.
  if (training_ && !std::isfinite(loss))
    throw ComputeError(fmt::format(
        "step {}: the loss is {}. The weights are as they were before this step; lower the "
        "learning rate, or clip the gradient norm.",
        step_, loss));
  losses_.at(action.micro_batch.index()) = loss;
  if (kept != nullptr) kept->output_grad = std::move(outputs);
  if (pace_.after_loss) pace_.after_loss(k);
}

Values StageRunner::backward(const Action& action, Values output_grad) {
  const auto entry = kept_.find({action.stage, action.micro_batch, action.slice});
  HEADRACE_CHECK(entry != kept_.end(), "{} has no forward", to_text(action));
  Kept& kept = entry->second;
  Tensors grads =
      action.stage == last_stage_ ? std::move(kept.output_grad) : received(std::move(output_grad));
  const bool split = action.kind == ActionKind::InputGrad;
  const LayerContext context = context_of(action);
  auto& layers = stages_.at(action.stage);
  for (std::size_t i = layers.size(); i-- > 0;) {
    Saved saved = std::move(kept.layers[i]);
    grads = in_layer(*layers[i], [&] {
      return layers[i]->backward(std::move(grads), std::move(saved), context,
                                 split ? &kept.work : nullptr);
    });
  }
  if (split)
    kept.layers.clear();
  else
    kept_.erase(entry);
  return action.stage.value == 0 ? Values{} : to_values(std::move(grads));
}

void StageRunner::weight_grad(const Action& action) {
  const auto entry = kept_.find({action.stage, action.micro_batch, action.slice});
  HEADRACE_CHECK(entry != kept_.end(), "{} has no input gradient before it", to_text(action));
  WeightGradWork work = std::move(entry->second.work);
  kept_.erase(entry);
  for (auto& piece : work) {
    piece();
    piece = nullptr;  // frees what it holds before the next piece takes memory
  }
}

std::int64_t StageRunner::bytes_held() const {
  return bytes_held_by(rank_).value;
}

}  // namespace headrace
