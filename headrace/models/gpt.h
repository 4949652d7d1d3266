// SPDX-License-Identifier: Apache-2.0
//
// GPT in the layout and under the names of GPT-2 (Radford et al. 2019), so that weights can be
// exchanged with Hugging Face's GPT2LMHeadModel:
//
//   embedding ─► h.0.attn ─► h.0.mlp ─► h.1.attn ─► ... ─► head
//
//   embedding   wte.weight [V, C] + wpe.weight [T, C], dropout
//   h.N.attn    x + dropout(c_proj(attention(c_attn(ln_1(x)))))      pre-norm, causal
//   h.N.mlp     x + dropout(c_proj(gelu(c_fc(ln_2(x)))))             GELU in its tanh form
//   head        ln_f, then logits by lm_head.weight [V, C], tied to wte.weight or of its own
//
// Each of these is a layer, so a cut can go between the halves of a block as well.
#pragma once

#include "headrace/models/network.h"

#include <cstdint>

namespace headrace {

struct GptShape {
  int layers = 4;
  std::int64_t d_model = 128;
  int heads = 4;
  std::int64_t d_hidden = 512;
  std::int64_t vocabulary = 256;
  std::int64_t sequence = 128;  // most tokens of a sample, rows of wpe.weight
  bool tied_head = true;
  double dropout = 0.0;
};

// Input: token numbers [B, T] of int64. Output: logits [B * T, V].
[[nodiscard]] Network gpt_network(const GptShape& shape);

}  // namespace headrace
