// SPDX-License-Identifier: Apache-2.0
//
// The stages of one rank, on real tensors.
//
//   F   input ─► layer ─► layer ─► output          each layer keeps what its backward needs
//   B   output grad ─► layer ─► layer ─► input grad    frees it, layer by layer, from the back
//   I   the same, with the weight gradients put off
//   W   the weight gradients that I put off
#pragma once

#include "headrace/execute/stage_compute.h"
#include "headrace/models/network.h"
#include "headrace/partition/partition.h"
#include "headrace/runtime/batch_source.h"
#include "headrace/schedule/schedule.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace headrace {

// Makes the loss of a micro-batch out of the last layer's outputs, divided by `total` targets. With
// `with_grad`, leaves the gradient of that loss in `outputs`.
using LossFunction = std::function<double(Tensors& outputs, const at::Tensor& targets,
                                          std::int64_t total, bool with_grad)>;

// Cross-entropy of logits [N, V] against N targets, see models/loss.h.
[[nodiscard]] LossFunction token_cross_entropy();

// Called in an evaluation before stage 0 takes micro-batch k, and after the last stage made its
// loss; either may be empty.
struct EvaluationPace {
  std::function<void(int)> before_input;
  std::function<void(int)> after_loss;
};

// A parameter of this rank and its place among all of the network.
struct PlacedParameter {
  std::int64_t order = 0;  // ascending in layer order, then in the layer's own
  int layer = 0;
  Parameter* parameter = nullptr;
};

class StageRunner : public StageCompute {
 public:
  // Builds the layers of all stages that `schedule` places on `rank`.
  StageRunner(const Network& network, const Partition& partition, const Schedule& schedule,
              RankId rank, std::uint64_t seed, LossFunction loss);

  // What the following pass works on. A training pass starts with empty gradients; both start with
  // a loss for each of their own micro-batches, which need not be equally many.
  void begin_training(std::int64_t step, const BatchSource& source);
  void begin_evaluation(const BatchSource& source, int micro_batches, EvaluationPace pace = {});

  [[nodiscard]] Values forward(const Action& action, Values input) override;
  [[nodiscard]] Values backward(const Action& action, Values output_grad) override;
  void weight_grad(const Action& action) override;
  [[nodiscard]] std::int64_t bytes_held() const override;

  // Loss of each micro-batch of the pass, where the last stage lives here; else empty.
  [[nodiscard]] const std::vector<double>& losses() const { return losses_; }
  // In order; the further uses of tied parameters included.
  [[nodiscard]] const std::vector<PlacedParameter>& parameters() const { return parameters_; }

 private:
  using Key = std::tuple<StageId, MicroBatchId, std::int16_t>;

  // What one micro-batch of one stage keeps.
  struct Kept {
    std::vector<Saved> layers;
    Tensors output_grad;  // of the last stage, made together with the loss
    WeightGradWork work;
  };

  void start_losses(int micro_batches);
  [[nodiscard]] LayerContext context_of(const Action& action) const;
  void make_loss(const Action& action, Tensors outputs, Kept* kept);
  void link_tied_parameters();

  RankId rank_;
  StageId last_stage_;
  int micro_batches_;  // of a training step
  std::uint64_t seed_;
  LossFunction loss_;
  std::map<StageId, std::vector<std::unique_ptr<Layer>>> stages_;
  std::vector<PlacedParameter> parameters_;
  const BatchSource* source_ = nullptr;
  std::int64_t step_ = 0;
  bool training_ = true;
  EvaluationPace pace_;
  std::map<Key, Kept> kept_;
  std::vector<double> losses_;
};

}  // namespace headrace
