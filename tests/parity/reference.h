// SPDX-License-Identifier: Apache-2.0
//
// One device, no pipeline: the same layers in one list and one plain loop. It shares the layers and
// the kernels with the runtime, and nothing else: no stages, no executor, no messages, no
// Optimizer.
#pragma once

#include "headrace/config/train_config.h"
#include "headrace/models/loss.h"
#include "headrace/models/network.h"
#include "headrace/runtime/batch_source.h"
#include "headrace/runtime/digest.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <cmath>
#include <map>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

namespace headrace::test {

struct ReferenceResult {
  std::vector<double> loss;
  std::vector<double> grad_norm;
  std::vector<NamedTensor> weights;
  std::vector<NamedTensor> optimizer;
  std::string digest;
};

// A parameter's state in a plain AdamW.
struct Moments {
  at::Tensor first;
  at::Tensor second;
  at::Tensor count;
};

class Reference {
 public:
  Reference(const Network& network, std::uint64_t seed) : seed_(seed) {
    for (const LayerSpec& spec : network.layers) layers_.push_back(spec.make(seed));
    for (const auto& layer : layers_)
      for (Parameter* p : layer->parameters()) {
        if (p->tied_to.empty()) {
          owners_.push_back(p);
          by_name_[p->name] = p;
        } else {
          p->value = by_name_.at(p->tied_to)->value;
          uses_.push_back(p);
        }
      }
  }

  // `order` is the order in which the schedule runs the backwards.
  ReferenceResult train(const BatchSource& source, const OptimizerConfig& config, int steps,
                        const std::vector<int>& order) {
    const c10::NoGradGuard no_grad;
    ReferenceResult result;
    for (int step = 0; step < steps; ++step) {
      for (Parameter* p : owners_) p->has_grad = false;
      for (Parameter* p : uses_) p->has_grad = false;
      std::vector<double> losses(order.size());
      for (const int k : order) losses[static_cast<std::size_t>(k)] = micro_batch(source, step, k);
      double loss = 0;
      for (const double part : losses) loss += part;
      result.loss.push_back(loss);
      for (Parameter* use : uses_) by_name_.at(use->tied_to)->grad.add_(use->grad);
      result.grad_norm.push_back(config.clip_norm > 0 ? clip(config.clip_norm) : 0.0);
      update(config, step, steps);
    }
    for (Parameter* p : owners_) {
      result.weights.push_back({p->name, p->value});
      result.optimizer.push_back({p->name + ".exp_avg", moments_[p].first});
      result.optimizer.push_back({p->name + ".exp_avg_sq", moments_[p].second});
      result.optimizer.push_back({p->name + ".step", moments_[p].count});
    }
    result.digest = digest_of(result.loss, result.weights, result.optimizer);
    return result;
  }

 private:
  double micro_batch(const BatchSource& source, int step, int k) {
    const LayerContext context{true, seed_, step, k, 0};
    std::vector<Saved> saved(layers_.size());
    Tensors values{source.inputs(step, k)};
    for (std::size_t i = 0; i < layers_.size(); ++i)
      values = layers_[i]->forward(std::move(values), context, &saved[i]);
    const double loss =
        cross_entropy(values.at(0), source.targets(step, k), source.total_targets(step), true);
    for (std::size_t i = layers_.size(); i-- > 0;)
      values = layers_[i]->backward(std::move(values), std::move(saved[i]), context, nullptr);
    return loss;
  }

  double clip(double most) {
    double sum = 0;
    for (const Parameter* p : owners_) {
      double part = 0;
      const at::Tensor flat = p->grad.reshape({-1});
      for (std::int64_t at = 0; at < flat.numel(); at += 16384) {
        const auto piece = flat.narrow(0, at, std::min<std::int64_t>(16384, flat.numel() - at));
        part += at::dot(piece, piece).item<double>();
      }
      sum += part;
    }
    const double norm = std::sqrt(sum);
    if (most / (norm + 1e-6) < 1)
      for (Parameter* p : owners_) p->grad.mul_(most / (norm + 1e-6));
    return norm;
  }

  void update(const OptimizerConfig& config, int step, int steps) {
    double rate = config.learning_rate;
    if (step < config.warmup_steps)
      rate *= (step + 1.0) / config.warmup_steps;
    else
      rate =
          config.min_learning_rate +
          0.5 *
              (1 + std::cos(std::numbers::pi *
                            std::min(1.0, (step - config.warmup_steps) /
                                              double(std::max(1, steps - config.warmup_steps))))) *
              (config.learning_rate - config.min_learning_rate);
    for (Parameter* p : owners_) {
      Moments& m = moments_[p];
      if (!m.first.defined())
        m = {at::zeros_like(p->value), at::zeros_like(p->value), at::zeros({}, at::kFloat)};
      m.count.add_(1);
      at::_fused_adamw_({p->value}, {p->grad}, {m.first}, {m.second}, {}, {m.count}, rate,
                        config.beta1, config.beta2, p->value.dim() >= 2 ? config.weight_decay : 0.0,
                        config.epsilon, false, false);
    }
  }

  std::uint64_t seed_;
  std::vector<std::unique_ptr<Layer>> layers_;
  std::vector<Parameter*> owners_;
  std::vector<Parameter*> uses_;
  std::map<std::string, Parameter*> by_name_;
  std::map<Parameter*, Moments> moments_;
};

}  // namespace headrace::test
