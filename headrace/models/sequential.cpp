// SPDX-License-Identifier: Apache-2.0
#include "headrace/models/sequential.h"

#include "headrace/base/error.h"
#include "headrace/base/random.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/grad_mode.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/rnn.h>

#include <algorithm>
#include <mutex>

namespace headrace {
namespace {

using Child = torch::nn::AnyModule;

template <class... Modules>
bool is_any_of(const torch::nn::Module& module) {
  return ((dynamic_cast<const Modules*>(&module) != nullptr) || ...);
}

bool draws_random_numbers(const Child& child) {
  namespace nn = torch::nn;
  for (const auto& module : child.ptr()->modules())
    if (is_any_of<nn::DropoutImpl, nn::Dropout2dImpl, nn::Dropout3dImpl, nn::AlphaDropoutImpl,
                  nn::FeatureAlphaDropoutImpl, nn::RReLUImpl, nn::MultiheadAttentionImpl,
                  nn::RNNImpl, nn::LSTMImpl, nn::GRUImpl>(*module))
      return true;
  return false;
}

// While it lives, PyTorch's generator gives this thread the numbers of one layer and micro-batch,
// whatever others drew before. PyTorch has one generator per process, hence one lock per process:
// ranks that are threads pass through it one after the other.
class OwnRandomNumbers {
 public:
  OwnRandomNumbers(const LayerContext& context, const std::string& layer)
      : alone_(one_at_a_time()), generator_(at::detail::getDefaultCPUGenerator()) {
    const std::lock_guard lock(generator_.mutex());
    before_ = generator_.get_state();
    generator_.set_current_seed(derive_seed(
        context.seed,
        fmt::format("layer:{}:{}:{}:{}", layer, context.step, context.micro_batch, context.slice)));
  }
  ~OwnRandomNumbers() {
    const std::lock_guard lock(generator_.mutex());
    generator_.set_state(before_);
  }
  OwnRandomNumbers(const OwnRandomNumbers&) = delete;
  OwnRandomNumbers& operator=(const OwnRandomNumbers&) = delete;

 private:
  static std::mutex& one_at_a_time() {
    static std::mutex mutex;
    return mutex;
  }

  std::lock_guard<std::mutex> alone_;
  at::Generator generator_;
  at::Tensor before_;
};

struct NamedParameter {
  std::string name;
  at::Tensor value;
};

class ModuleLayer : public Layer {
 public:
  ModuleLayer(const std::string& name, Child child, const std::vector<NamedParameter>& named)
      : Layer(name), child_(std::move(child)), random_(draws_random_numbers(child_)) {
    for (const NamedParameter& own : named) {
      auto parameter = std::make_unique<Parameter>();
      parameter->name = own.name;
      parameter->value = own.value;
      parameter->decays = own.value.dim() >= 2;
      owned_.push_back(std::move(parameter));
      add(*owned_.back());
    }
  }

  Tensors forward(Tensors input, const LayerContext& context, Saved* saved) override {
    child_.ptr()->train(context.training);
    at::Tensor x = std::move(input.at(0));
    if (saved == nullptr) return {call(x, context)};
    at::AutoGradMode grad(true);
    at::Tensor leaf = x.detach();
    if (leaf.is_floating_point()) leaf.requires_grad_();
    at::Tensor y = call(leaf, context);
    saved->tensors = {leaf, y};
    return {y.detach()};
  }

  // Asks for the gradients instead of letting autograd leave them in the module's tensors, which
  // stay as the user knows them.
  Tensors backward(Tensors output_grad, Saved saved, const LayerContext& /*context*/,
                   WeightGradWork* /*later*/) override {
    const at::Tensor leaf = saved.tensors.at(0);
    const at::Tensor y = std::move(saved.tensors.at(1));
    saved.tensors.clear();
    if (!y.requires_grad() || !output_grad.at(0).defined()) return {at::Tensor()};
    std::vector<at::Tensor> wanted;
    std::vector<Parameter*> trained;
    for (Parameter* parameter : parameters()) {
      if (!parameter->value.requires_grad()) continue;  // frozen
      trained.push_back(parameter);
      wanted.push_back(parameter->value);
    }
    if (leaf.requires_grad()) wanted.push_back(leaf);
    const auto grads = torch::autograd::grad({y}, wanted, {output_grad.at(0)},
                                             /*retain_graph=*/false, /*create_graph=*/false,
                                             /*allow_unused=*/true);
    for (std::size_t i = 0; i < trained.size(); ++i)
      if (grads[i].defined()) accumulate(*trained[i], grads[i]);
    return {leaf.requires_grad() ? grads.back() : at::Tensor()};
  }

 private:
  at::Tensor call(const at::Tensor& x, const LayerContext& context) {
    if (!random_ || !context.training) return child_.forward(x);
    const OwnRandomNumbers numbers(context, name());
    return child_.forward(x);
  }

  Child child_;
  bool random_;
  std::vector<std::unique_ptr<Parameter>> owned_;
};

// `earlier` is what the layers before hold. A tensor of theirs cannot be here as well: on another
// rank, its update would change it under this layer's graphs.
std::vector<NamedParameter> parameters_of(const std::string& layer, const Child& child,
                                          std::vector<NamedParameter>& earlier) {
  std::vector<NamedParameter> own;
  for (const auto& item : child.ptr()->named_parameters()) {
    const at::Tensor& value = item.value();
    const auto is_same = [&](const NamedParameter& other) { return other.value.is_same(value); };
    if (std::any_of(own.begin(), own.end(), is_same)) continue;  // twice in one child is one
    const auto first = std::find_if(earlier.begin(), earlier.end(), is_same);
    if (first != earlier.end())
      throw UsageError(
          fmt::format("the Sequential uses {} again as {}.{}; give each child weights of its own, "
                      "or put all uses into one child",
                      first->name, layer, item.key()));
    own.push_back({layer + "." + item.key(), value});
  }
  earlier.insert(earlier.end(), own.begin(), own.end());
  return own;
}

}  // namespace

Network sequential_network(torch::nn::Sequential sequential) {
  Network network;
  network.name = "sequential";
  const auto names = sequential->named_children();
  std::vector<NamedParameter> all;
  std::size_t at = 0;
  for (const Child& child : *sequential) {
    LayerSpec spec;
    spec.name = names[at++].key();
    const std::vector<NamedParameter> own = parameters_of(spec.name, child, all);
    for (const NamedParameter& parameter : own) spec.parameters += parameter.value.numel();
    spec.forward_flops = [parameters = spec.parameters](BatchShape b) {
      return 2 * b.rows * parameters;
    };
    spec.output_elements = [](BatchShape) { return std::int64_t{0}; };
    spec.saved_elements = [](BatchShape) { return std::int64_t{0}; };
    spec.make = [name = spec.name, child, own](std::uint64_t) {
      return std::make_unique<ModuleLayer>(name, child, own);
    };
    network.layers.push_back(spec);
  }
  if (network.layers.empty()) throw UsageError("the Sequential has no layers; add some");
  return network;
}

}  // namespace headrace
