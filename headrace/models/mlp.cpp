// SPDX-License-Identifier: Apache-2.0
#include "headrace/models/mlp.h"

#include "headrace/models/initial.h"
#include "headrace/models/internal/pieces.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

namespace headrace {
namespace {

using internal::Projection;

// tokens [B, T] -> [N, C].
class TokenLayer : public Layer {
 public:
  TokenLayer(const MlpShape& shape, std::uint64_t seed) : Layer("embedding") {
    table_ = internal::make_parameter(
        "embedding.weight",
        normal_weights(seed, "embedding.weight", {shape.vocabulary, shape.d_model}, 1.0));
    add(table_);
  }

  Tensors forward(Tensors input, const LayerContext& /*context*/, Saved* saved) override {
    at::Tensor tokens = input.at(0).reshape({-1});
    at::Tensor x = at::embedding(table_.value, tokens);
    if (saved != nullptr) saved->tensors = {std::move(tokens)};
    return {std::move(x)};
  }

  Tensors backward(Tensors output_grad, Saved saved, const LayerContext& /*context*/,
                   WeightGradWork* later) override {
    now_or_later(later, [this, dx = output_grad.at(0), tokens = saved.tensors.at(0)] {
      accumulate_indexed(table_, tokens, dx);
    });
    return {at::Tensor()};
  }

 private:
  Parameter table_;
};

// [N, in] -> [N, out], with GELU or, at the end, without.
class DenseLayer : public Layer {
 public:
  DenseLayer(const std::string& name, std::int64_t in, std::int64_t out, bool active,
             std::uint64_t seed)
      : Layer(name),
        active_(active),
        projection_(name, in, out, 1.0 / std::sqrt(static_cast<double>(in)), seed) {
    add(projection_.weight);
    add(projection_.bias);
  }

  Tensors forward(Tensors input, const LayerContext& /*context*/, Saved* saved) override {
    at::Tensor x = std::move(input.at(0));
    at::Tensor y = projection_.forward(x);
    at::Tensor result = active_ ? at::gelu(y, "tanh") : y;
    if (saved != nullptr)
      saved->tensors = active_ ? Tensors{std::move(x), std::move(y)} : Tensors{std::move(x)};
    return {std::move(result)};
  }

  Tensors backward(Tensors output_grad, Saved saved, const LayerContext& /*context*/,
                   WeightGradWork* later) override {
    at::Tensor dy = std::move(output_grad.at(0));
    if (active_) dy = at::gelu_backward(dy, saved.tensors.at(1), "tanh");
    return {projection_.backward(dy, saved.tensors.at(0), later)};
  }

 private:
  bool active_;
  Projection projection_;
};

LayerSpec dense_spec(const std::string& name, std::int64_t in, std::int64_t out, bool active) {
  LayerSpec spec;
  spec.name = name;
  spec.parameters = in * out + out;
  spec.forward_flops = [in, out](BatchShape b) { return 2 * b.rows * b.sequence * in * out; };
  spec.output_elements = [out](BatchShape b) { return b.rows * b.sequence * out; };
  spec.saved_elements = [out](BatchShape b) { return b.rows * b.sequence * out; };
  spec.make = [=](std::uint64_t seed) {
    return std::make_unique<DenseLayer>(name, in, out, active, seed);
  };
  return spec;
}

}  // namespace

Network mlp_network(const MlpShape& shape) {
  internal::require_sizes(
      "mlp",
      {{"layers", shape.layers}, {"d_model", shape.d_model}, {"vocabulary", shape.vocabulary}});
  Network network;
  network.name = "mlp";
  LayerSpec tokens;
  tokens.name = "embedding";
  tokens.parameters = shape.vocabulary * shape.d_model;
  const std::int64_t width = shape.d_model;
  tokens.forward_flops = [width](BatchShape b) { return b.rows * b.sequence * width; };
  tokens.output_elements = tokens.forward_flops;
  tokens.saved_elements = [](BatchShape b) { return 2 * b.rows * b.sequence; };
  tokens.make = [shape](std::uint64_t seed) { return std::make_unique<TokenLayer>(shape, seed); };
  network.layers.push_back(tokens);
  for (int i = 0; i < shape.layers; ++i)
    network.layers.push_back(dense_spec(fmt::format("hidden.{}", i), width, width, true));
  network.layers.push_back(dense_spec("head", width, shape.vocabulary, false));
  return network;
}

}  // namespace headrace
