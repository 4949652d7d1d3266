// SPDX-License-Identifier: Apache-2.0
#include "headrace/models/sequential.h"

#include "headrace/base/error.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/grad_mode.h>

namespace headrace {
namespace {

using Child = torch::nn::AnyModule;

class ModuleLayer : public Layer {
 public:
  ModuleLayer(const std::string& name, Child child) : Layer(name), child_(std::move(child)) {
    for (const auto& item : child_.ptr()->named_parameters()) {
      auto parameter = std::make_unique<Parameter>();
      parameter->name = name + "." + item.key();
      parameter->value = item.value();
      parameter->decays = item.value().dim() >= 2;
      owned_.push_back(std::move(parameter));
      add(*owned_.back());
    }
  }

  Tensors forward(Tensors input, const LayerContext& context, Saved* saved) override {
    child_.ptr()->train(context.training);
    at::Tensor x = std::move(input.at(0));
    if (saved == nullptr) return {child_.forward(x)};
    at::AutoGradMode grad(true);
    at::Tensor leaf = x.detach();
    if (leaf.is_floating_point()) leaf.requires_grad_();
    at::Tensor y = child_.forward(leaf);
    saved->tensors = {leaf, y};
    return {y.detach()};
  }

  Tensors backward(Tensors output_grad, Saved saved, const LayerContext& /*context*/,
                   WeightGradWork* /*later*/) override {
    const at::Tensor leaf = saved.tensors.at(0);
    const at::Tensor y = saved.tensors.at(1);
    saved.tensors.clear();
    if (!y.requires_grad() || !output_grad.at(0).defined()) return {at::Tensor()};
    torch::autograd::backward({y}, {output_grad.at(0)});
    for (Parameter* parameter : parameters()) take_grad(*parameter);
    return {leaf.grad()};
  }

 private:
  // Autograd makes a gradient per micro-batch; what counts is the sum in the parameter's own
  // buffer.
  static void take_grad(Parameter& parameter) {
    at::Tensor& made = parameter.value.mutable_grad();
    if (!made.defined()) return;
    accumulate(parameter, made);
    made.reset();
  }

  Child child_;
  std::vector<std::unique_ptr<Parameter>> owned_;
};

}  // namespace

Network sequential_network(torch::nn::Sequential sequential) {
  Network network;
  network.name = "sequential";
  const auto names = sequential->named_children();
  std::size_t at = 0;
  for (const Child& child : *sequential) {
    LayerSpec spec;
    spec.name = names[at++].key();
    for (const at::Tensor& parameter : child.ptr()->parameters())
      spec.parameters += parameter.numel();
    const std::int64_t parameters = spec.parameters;
    spec.forward_flops = [parameters](BatchShape b) { return 2 * b.rows * parameters; };
    spec.output_elements = [](BatchShape) { return std::int64_t{0}; };
    spec.saved_elements = [](BatchShape) { return std::int64_t{0}; };
    spec.make = [name = spec.name, child](std::uint64_t) {
      return std::make_unique<ModuleLayer>(name, child);
    };
    network.layers.push_back(spec);
  }
  if (network.layers.empty()) throw UsageError("the Sequential has no layers; add some");
  return network;
}

}  // namespace headrace
