// SPDX-License-Identifier: Apache-2.0
//
// What a description promises, its layers keep: names, shapes, sizes, costs.
#include "headrace/models/network.h"

#include "headrace/base/error.h"
#include "headrace/models/gpt.h"
#include "headrace/models/initial.h"
#include "headrace/models/mlp.h"
#include "tests/models/close.h"

#include <ATen/ATen.h>

namespace headrace {
namespace {

using test::kTraining;
using test::small_shape;

std::vector<std::string> names_and_shapes(const Network& network) {
  std::vector<std::string> lines;
  for (const LayerSpec& spec : network.layers) {
    const auto layer = spec.make(1);
    EXPECT_EQ(layer->name(), spec.name);
    for (const Parameter* p : layer->parameters()) {
      std::string line = p->name;
      for (const std::int64_t size : p->value.sizes()) line += " " + std::to_string(size);
      lines.push_back(line + (p->tied_to.empty() ? "" : " = " + p->tied_to));
    }
  }
  return lines;
}

// As GPT2LMHeadModel has them, the leading "transformer." left out.
TEST(Gpt, HasTheNamesAndShapesOfGpt2) {
  GptShape shape = small_shape();
  shape.layers = 1;
  shape.tied_head = true;
  EXPECT_EQ(names_and_shapes(gpt_network(shape)),
            (std::vector<std::string>{
                "wte.weight 256 32", "wpe.weight 16 32", "h.0.ln_1.weight 32", "h.0.ln_1.bias 32",
                "h.0.attn.c_attn.weight 32 96", "h.0.attn.c_attn.bias 96",
                "h.0.attn.c_proj.weight 32 32", "h.0.attn.c_proj.bias 32", "h.0.ln_2.weight 32",
                "h.0.ln_2.bias 32", "h.0.mlp.c_fc.weight 32 128", "h.0.mlp.c_fc.bias 128",
                "h.0.mlp.c_proj.weight 128 32", "h.0.mlp.c_proj.bias 32", "ln_f.weight 32",
                "ln_f.bias 32", "lm_head.weight 256 32 = wte.weight"}));
}

TEST(Mlp, NamesItsLayersAndParameters) {
  EXPECT_EQ(names_and_shapes(mlp_network({1, 8, 50})),
            (std::vector<std::string>{"embedding.weight 50 8", "hidden.0.weight 8 8",
                                      "hidden.0.bias 8", "head.weight 8 50", "head.bias 50"}));
}

TEST(Gpt, ATiedHeadStartsAsTheEmbedding) {
  GptShape shape = small_shape();
  shape.tied_head = true;
  const Network network = gpt_network(shape);
  const auto embedding = network.layers.front().make(4);
  const auto head = network.layers.back().make(4);
  EXPECT_TRUE(at::equal(embedding->parameters().front()->value, head->parameters().back()->value));
  shape.tied_head = false;
  const auto own = gpt_network(shape).layers.back().make(4);
  EXPECT_FALSE(at::equal(embedding->parameters().front()->value, own->parameters().back()->value));
  EXPECT_EQ(own->parameters().back()->tied_to, "");
}

// Deviation 0.02, and 0.02 / sqrt(2 * layers) for what adds into the residual stream.
TEST(Gpt, StartsWithTheDeviationsOfGpt2) {
  GptShape shape = small_shape();
  shape.layers = 8;
  shape.d_model = 64;
  for (const LayerSpec& spec : gpt_network(shape).layers) {
    const auto layer = spec.make(1);
    for (const Parameter* p : layer->parameters()) {
      EXPECT_EQ(p->decays, p->value.dim() == 2) << p->name;
      if (p->value.dim() != 2) continue;
      const bool residual = p->name.find("c_proj") != std::string::npos;
      const double deviation = residual ? 0.005 : 0.02;
      // Four deviations of the deviation of so many draws.
      const double slack = 4 * deviation / std::sqrt(2.0 * static_cast<double>(p->value.numel()));
      EXPECT_NEAR(p->value.std().item<double>(), deviation, slack) << p->name;
    }
  }
}

std::int64_t bytes_of(const at::Tensor& tensor) {
  return tensor.numel() * static_cast<std::int64_t>(tensor.element_size());
}

// The formulas against what really is kept and handed on, for any number of rows.
void expect_sizes(const Network& network, std::int64_t rows, std::int64_t sequence) {
  const c10::NoGradGuard guard;
  const ModelProfile profile = profile_of(network, {rows, sequence});
  Tensors values{at::zeros({rows, sequence}, at::kLong)};
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const LayerSpec& spec = network.layers[i];
    const LayerProfile& costs = profile.layers[i];
    const auto layer = spec.make(1);
    std::int64_t parameters = 0;
    for (const Parameter* p : layer->parameters())
      if (p->tied_to.empty()) parameters += p->value.numel();
    EXPECT_EQ(spec.parameters, parameters) << spec.name;
    EXPECT_EQ(costs.weights.value, 4 * parameters) << spec.name;
    const at::Tensor input = values[0];
    Saved saved;
    values = layer->forward(std::move(values), kTraining, &saved);
    EXPECT_EQ(costs.output.value, bytes_of(values[0])) << spec.name;
    std::int64_t kept = 0;
    for (const at::Tensor& tensor : saved.tensors)
      if (i == 0 || !tensor.is_alias_of(input)) kept += bytes_of(tensor);
    // The head's formula counts its output, which becomes the gradient of the loss in place.
    if (i + 1 == network.layers.size()) kept += bytes_of(values[0]);
    EXPECT_EQ(costs.activation.value, kept) << spec.name;
  }
}

TEST(ProfileOf, CountsTheBytesThatLayersKeepAndHandOn) {
  for (const std::int64_t rows : {1, 3}) {
    expect_sizes(gpt_network(small_shape()), rows, 16);
    expect_sizes(gpt_network(small_shape()), rows, 5);
    GptShape tied = small_shape();
    tied.tied_head = true;
    expect_sizes(gpt_network(tied), rows, 16);
    expect_sizes(mlp_network({3, 8, 50}), rows, 5);
  }
}

// 8 blocks of width 256, 8,192 words, 32 samples of 128 tokens: matrix products of a step, three
// times those of the forward, are 206.2 GFLOP; causal attention adds 2 * 8 blocks * 4,096 tokens *
// 128 * 256 multiply-adds thrice, 6.4 GFLOP.
TEST(ProfileOf, CountsTheFlopsOfAKnownModel) {
  GptShape shape;
  shape.layers = 8;
  shape.d_model = 256;
  shape.heads = 8;
  shape.d_hidden = 1024;
  shape.vocabulary = 8192;
  shape.sequence = 128;
  shape.tied_head = false;
  std::int64_t flops = 0;
  for (const LayerProfile& layer : profile_of(gpt_network(shape), {32, 128}).layers)
    if (layer.name != "embedding") flops += layer.flops;
  const std::int64_t products = 2LL * 4096 * (8 * 12 * 256 * 256 + 8192 * 256);
  EXPECT_EQ(flops, products + 2LL * 8 * 4096 * 128 * 256);
  EXPECT_EQ(3 * products / 1'000'000'000, 206);
}

TEST(Networks, RefuseSizesThatAreNotPositive) {
  const auto message = [](auto call) -> std::string {
    try {
      static_cast<void>(call());
    } catch (const UsageError& error) {
      return error.what();
    }
    return "accepted";
  };
  GptShape shape = small_shape();
  shape.vocabulary = 0;
  EXPECT_EQ(message([&] { return gpt_network(shape); }),
            "gpt: vocabulary is 0; it must be at least 1");
  shape = small_shape();
  shape.heads = 5;
  EXPECT_EQ(message([&] { return gpt_network(shape); }),
            "gpt: d_model is 32 and heads is 5; heads must divide d_model");
  shape = small_shape();
  shape.dropout = 1.0;
  EXPECT_EQ(message([&] { return gpt_network(shape); }),
            "gpt: dropout is 1; it must be at least 0 and below 1");
  EXPECT_EQ(message([] {
              return mlp_network({2, -3, 50});
            }),
            "mlp: d_model is -3; it must be at least 1");
}

}  // namespace
}  // namespace headrace
