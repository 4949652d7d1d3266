// SPDX-License-Identifier: Apache-2.0
//
// A network is a list of layers that can be cut anywhere. A layer is a function from tensors to
// tensors with its own backward, so that a stage knows exactly what it keeps, when that is freed,
// and which part of the backward can wait:
//
//   forward:   input ──► output          keeps what its backward needs in `Saved`
//   backward:  output grad ──► input grad     weight gradients now, or as work for later
#pragma once

#include "headrace/models/parameter.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace headrace {

// The values at a place between two layers: any number of tensors of any type and shape.
using Tensors = std::vector<at::Tensor>;

// Which micro-batch a layer works on; the key of all randomness in it.
struct LayerContext {
  bool training = true;
  std::uint64_t seed = 1;
  std::int64_t step = 0;
  std::int32_t micro_batch = 0;
  std::int32_t slice = 0;
};

// What a layer keeps from its forward for its backward. A layer puts tensors in any order it likes.
struct Saved {
  Tensors tensors;
};

// Weight-gradient work that the split backward puts off: I fills it, W runs it.
using WeightGradWork = std::vector<std::function<void()>>;

class Layer {
 public:
  explicit Layer(std::string name) : name_(std::move(name)) {}
  virtual ~Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<Parameter*>& parameters() const { return parameters_; }

  // Runs under no-grad. `saved` is null where no backward follows (evaluation, recompute).
  [[nodiscard]] virtual Tensors forward(Tensors input, const LayerContext& context,
                                        Saved* saved) = 0;

  // Takes the gradient of each output (an undefined tensor is zero) and gives that of each input
  // (undefined where there is none, such as of token numbers). With `later`, weight gradients may
  // be appended there instead of being made now; a layer that does not know the split ignores it.
  [[nodiscard]] virtual Tensors backward(Tensors output_grad, Saved saved,
                                         const LayerContext& context, WeightGradWork* later) = 0;

 protected:
  // Registers a member; parameters keep the order of registration.
  void add(Parameter& parameter) { parameters_.push_back(&parameter); }

 private:
  std::string name_;
  std::vector<Parameter*> parameters_;
};

// Runs `work` now, or puts it off where the backward is split.
inline void now_or_later(WeightGradWork* later, std::function<void()> work) {
  if (later == nullptr)
    work();
  else
    later->push_back(std::move(work));
}

}  // namespace headrace
