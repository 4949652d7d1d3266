// SPDX-License-Identifier: Apache-2.0
#include "headrace/models/gpt.h"

#include "headrace/base/error.h"
#include "headrace/models/internal/gpt_layers.h"

#include <fmt/format.h>

namespace headrace {
namespace {

std::int64_t tokens(BatchShape batch) {
  return batch.rows * batch.sequence;
}

LayerSpec embedding_spec(const GptShape& shape) {
  LayerSpec spec;
  spec.name = "embedding";
  spec.parameters = (shape.vocabulary + shape.sequence) * shape.d_model;
  spec.forward_flops = [shape](BatchShape b) { return tokens(b) * shape.d_model; };
  spec.output_elements = [shape](BatchShape b) { return tokens(b) * shape.d_model; };
  spec.saved_elements = [](BatchShape b) { return 2 * tokens(b); };
  spec.make = [shape](std::uint64_t seed) {
    return std::make_unique<internal::EmbeddingLayer>(shape, seed);
  };
  return spec;
}

LayerSpec attention_spec(const GptShape& shape, int block) {
  const std::int64_t c = shape.d_model;
  LayerSpec spec;
  spec.name = fmt::format("h.{}.attn", block);
  spec.parameters = 4 * c * c + 6 * c;
  // Projections, and scores and mixing over the half of the square that the causal mask leaves.
  spec.forward_flops = [c](BatchShape b) {
    return 8 * tokens(b) * c * c + 2 * tokens(b) * b.sequence * c;
  };
  spec.output_elements = [c](BatchShape b) { return tokens(b) * c; };
  spec.saved_elements = [c, shape](BatchShape b) { return tokens(b) * (5 * c + 2 + shape.heads); };
  spec.make = [shape, block](std::uint64_t seed) {
    return std::make_unique<internal::AttentionLayer>(shape, block, seed);
  };
  return spec;
}

LayerSpec mlp_spec(const GptShape& shape, int block) {
  const std::int64_t c = shape.d_model;
  const std::int64_t h = shape.d_hidden;
  LayerSpec spec;
  spec.name = fmt::format("h.{}.mlp", block);
  spec.parameters = 2 * c * h + h + 3 * c;
  spec.forward_flops = [c, h](BatchShape b) { return 4 * tokens(b) * c * h; };
  spec.output_elements = [c](BatchShape b) { return tokens(b) * c; };
  spec.saved_elements = [c, h](BatchShape b) { return tokens(b) * (c + 2 * h + 2); };
  spec.make = [shape, block](std::uint64_t seed) {
    return std::make_unique<internal::MlpLayer>(shape, block, seed);
  };
  return spec;
}

LayerSpec head_spec(const GptShape& shape) {
  const std::int64_t c = shape.d_model;
  const std::int64_t v = shape.vocabulary;
  LayerSpec spec;
  spec.name = "head";
  spec.parameters = 2 * c + (shape.tied_head ? 0 : v * c);
  spec.forward_flops = [c, v](BatchShape b) { return 2 * tokens(b) * c * v; };
  spec.output_elements = [v](BatchShape b) { return tokens(b) * v; };
  spec.saved_elements = [c, v](BatchShape b) { return tokens(b) * (c + v + 2); };
  spec.make = [shape](std::uint64_t seed) {
    return std::make_unique<internal::HeadLayer>(shape, seed);
  };
  return spec;
}

}  // namespace

Network gpt_network(const GptShape& shape) {
  internal::require_sizes("gpt", {{"layers", shape.layers},
                                  {"d_model", shape.d_model},
                                  {"heads", shape.heads},
                                  {"d_hidden", shape.d_hidden},
                                  {"vocabulary", shape.vocabulary},
                                  {"sequence", shape.sequence}});
  if (shape.d_model % shape.heads != 0)
    throw UsageError(fmt::format("gpt: d_model is {} and heads is {}; heads must divide d_model",
                                 shape.d_model, shape.heads));
  if (!(shape.dropout >= 0 && shape.dropout < 1))
    throw UsageError(
        fmt::format("gpt: dropout is {}; it must be at least 0 and below 1", shape.dropout));
  Network network;
  network.name = "gpt";
  network.layers.push_back(embedding_spec(shape));
  for (int block = 0; block < shape.layers; ++block) {
    network.layers.push_back(attention_spec(shape, block));
    network.layers.push_back(mlp_spec(shape, block));
  }
  network.layers.push_back(head_spec(shape));
  return network;
}

}  // namespace headrace
