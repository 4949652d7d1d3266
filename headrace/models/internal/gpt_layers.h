// SPDX-License-Identifier: Apache-2.0
//
// The four kinds of layers of a GPT. B rows, T tokens, N = B * T, C width, H hidden width, V words.
#pragma once

#include "headrace/models/gpt.h"
#include "headrace/models/internal/pieces.h"
#include "headrace/models/layer.h"

#include <cstdint>
#include <string>

namespace headrace::internal {

// tokens [B, T] -> [B, T, C].
class EmbeddingLayer : public Layer {
 public:
  EmbeddingLayer(const GptShape& shape, std::uint64_t seed);
  Tensors forward(Tensors input, const LayerContext& context, Saved* saved) override;
  Tensors backward(Tensors output_grad, Saved saved, const LayerContext& context,
                   WeightGradWork* later) override;

 private:
  double dropout_;
  Parameter tokens_;     // wte.weight [V, C]
  Parameter positions_;  // wpe.weight [T, C]
};

// [B, T, C] -> [B, T, C].
class AttentionLayer : public Layer {
 public:
  AttentionLayer(const GptShape& shape, int block, std::uint64_t seed);
  Tensors forward(Tensors input, const LayerContext& context, Saved* saved) override;
  Tensors backward(Tensors output_grad, Saved saved, const LayerContext& context,
                   WeightGradWork* later) override;

 private:
  std::int64_t heads_;
  double dropout_;
  Norm norm_;
  Projection qkv_;
  Projection out_;
};

// [B, T, C] -> [B, T, C].
class MlpLayer : public Layer {
 public:
  MlpLayer(const GptShape& shape, int block, std::uint64_t seed);
  Tensors forward(Tensors input, const LayerContext& context, Saved* saved) override;
  Tensors backward(Tensors output_grad, Saved saved, const LayerContext& context,
                   WeightGradWork* later) override;

 private:
  double dropout_;
  Norm norm_;
  Projection up_;
  Projection down_;
};

// [B, T, C] -> logits [B * T, V].
class HeadLayer : public Layer {
 public:
  HeadLayer(const GptShape& shape, std::uint64_t seed);
  Tensors forward(Tensors input, const LayerContext& context, Saved* saved) override;
  Tensors backward(Tensors output_grad, Saved saved, const LayerContext& context,
                   WeightGradWork* later) override;

 private:
  Norm norm_;
  Parameter words_;  // lm_head.weight [V, C]
};

}  // namespace headrace::internal
