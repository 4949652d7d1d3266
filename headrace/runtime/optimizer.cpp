// SPDX-License-Identifier: Apache-2.0
#include "headrace/runtime/optimizer.h"

#include <ATen/ATen.h>

#include <cmath>
#include <numbers>

namespace headrace {

double learning_rate_at(const OptimizerConfig& config, std::int64_t step, std::int64_t steps) {
  if (step < config.warmup_steps)
    return config.learning_rate * static_cast<double>(step + 1) / config.warmup_steps;
  const double length = static_cast<double>(std::max<std::int64_t>(1, steps - config.warmup_steps));
  const double done = std::min(1.0, static_cast<double>(step - config.warmup_steps) / length);
  const double cosine = 0.5 * (1.0 + std::cos(std::numbers::pi * done));
  return config.min_learning_rate + cosine * (config.learning_rate - config.min_learning_rate);
}

Optimizer::Optimizer(const OptimizerConfig& config, std::vector<Parameter*> parameters)
    : config_(config) {
  for (Parameter* parameter : parameters) {
    Slot slot;
    slot.parameter = parameter;
    slot.first = at::zeros_like(parameter->value);
    if (config.kind == "adamw") {
      slot.second = at::zeros_like(parameter->value);
      slot.count = at::zeros({}, at::kFloat);
    }
    slots_.push_back(std::move(slot));
  }
}

void Optimizer::step(double learning_rate) {
  if (config_.kind == "sgd") return sgd(learning_rate);
  adamw(learning_rate, true);
  adamw(learning_rate, false);
}

void Optimizer::adamw(double learning_rate, bool decays) {
  std::vector<at::Tensor> values, grads, firsts, seconds, counts;
  for (Slot& slot : slots_) {
    if (slot.parameter->decays != decays || !slot.parameter->has_grad) continue;
    slot.count.add_(1);
    values.push_back(slot.parameter->value);
    grads.push_back(slot.parameter->grad);
    firsts.push_back(slot.first);
    seconds.push_back(slot.second);
    counts.push_back(slot.count);
  }
  if (values.empty()) return;
  at::_fused_adamw_(values, grads, firsts, seconds, {}, counts, learning_rate, config_.beta1,
                    config_.beta2, decays ? config_.weight_decay : 0.0, config_.epsilon, false,
                    false);
}

// v = momentum v + (g + decay w);  w -= rate v
void Optimizer::sgd(double learning_rate) {
  for (Slot& slot : slots_) {
    if (!slot.parameter->has_grad) continue;
    slot.first.mul_(config_.momentum).add_(slot.parameter->grad);
    if (slot.parameter->decays) slot.first.add_(slot.parameter->value, config_.weight_decay);
    slot.parameter->value.add_(slot.first, -learning_rate);
  }
}

std::vector<std::pair<std::string, at::Tensor>> Optimizer::state() const {
  std::vector<std::pair<std::string, at::Tensor>> named;
  for (const Slot& slot : slots_) {
    const std::string& name = slot.parameter->name;
    if (config_.kind == "sgd") {
      named.emplace_back(name + ".momentum", slot.first);
      continue;
    }
    named.emplace_back(name + ".exp_avg", slot.first);
    named.emplace_back(name + ".exp_avg_sq", slot.second);
    named.emplace_back(name + ".step", slot.count);
  }
  return named;
}

}  // namespace headrace
