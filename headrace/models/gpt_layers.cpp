// SPDX-License-Identifier: Apache-2.0
#include "headrace/models/internal/gpt_layers.h"

#include "headrace/models/initial.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

namespace headrace::internal {
namespace {

constexpr double kDeviation = 0.02;

// GPT-2 scales what adds into the residual stream by the number of such additions.
double residual_deviation(const GptShape& shape) {
  return kDeviation / std::sqrt(2.0 * shape.layers);
}

at::Tensor rows_of(const at::Tensor& x) {
  return x.view({-1, x.size(-1)});
}

bool drops(double rate, const LayerContext& context) {
  return context.training && rate > 0;
}

// `y` times the mask of this place, which backward draws again instead of keeping it.
void drop(at::Tensor& y, double rate, const LayerContext& context, const std::string& site) {
  if (drops(rate, context))
    y.mul_(dropout_mask(y, rate, context.seed, context.step, context.micro_batch, context.slice,
                        site));
}

at::Tensor dropped_grad(const at::Tensor& dy, double rate, const LayerContext& context,
                        const std::string& site) {
  if (!drops(rate, context)) return dy;
  return dy * dropout_mask(dy, rate, context.seed, context.step, context.micro_batch, context.slice,
                           site);
}

}  // namespace

EmbeddingLayer::EmbeddingLayer(const GptShape& shape, std::uint64_t seed)
    : Layer("embedding"),
      dropout_(shape.dropout),
      tokens_(make_parameter(
          "wte.weight",
          normal_weights(seed, "wte.weight", {shape.vocabulary, shape.d_model}, kDeviation))),
      positions_(make_parameter(
          "wpe.weight",
          normal_weights(seed, "wpe.weight", {shape.sequence, shape.d_model}, kDeviation))) {
  add(tokens_);
  add(positions_);
}

Tensors EmbeddingLayer::forward(Tensors input, const LayerContext& context, Saved* saved) {
  const at::Tensor& tokens = input.at(0);
  at::Tensor x = at::embedding(tokens_.value, tokens);
  x.add_(positions_.value.narrow(0, 0, tokens.size(1)));
  drop(x, dropout_, context, name());
  if (saved != nullptr) saved->tensors = {tokens};
  return {std::move(x)};
}

Tensors EmbeddingLayer::backward(Tensors output_grad, Saved saved, const LayerContext& context,
                                 WeightGradWork* later) {
  const at::Tensor dx = dropped_grad(output_grad.at(0), dropout_, context, name());
  now_or_later(later, [this, dx, tokens = saved.tensors.at(0)] {
    accumulate_indexed(tokens_, tokens.reshape({-1}), rows_of(dx));
    const at::Tensor places = at::arange(dx.size(1), at::kLong);
    accumulate_indexed(positions_, places, dx.sum(0));
  });
  return {at::Tensor()};
}

AttentionLayer::AttentionLayer(const GptShape& shape, int block, std::uint64_t seed)
    : Layer(fmt::format("h.{}.attn", block)),
      heads_(shape.heads),
      dropout_(shape.dropout),
      norm_(fmt::format("h.{}.ln_1", block), shape.d_model),
      qkv_(fmt::format("h.{}.attn.c_attn", block), shape.d_model, 3 * shape.d_model, kDeviation,
           seed),
      out_(fmt::format("h.{}.attn.c_proj", block), shape.d_model, shape.d_model,
           residual_deviation(shape), seed) {
  for (Parameter* p :
       {&norm_.weight, &norm_.bias, &qkv_.weight, &qkv_.bias, &out_.weight, &out_.bias})
    add(*p);
}

namespace {

// q, k and v as views [B, heads, T, C / heads] of one buffer [N, 3C].
std::vector<at::Tensor> heads_of(const at::Tensor& qkv, std::int64_t rows, std::int64_t heads) {
  const std::int64_t width = qkv.size(1) / 3;
  return qkv.view({rows, -1, 3, heads, width / heads}).permute({2, 0, 3, 1, 4}).unbind(0);
}

}  // namespace

Tensors AttentionLayer::forward(Tensors input, const LayerContext& context, Saved* saved) {
  at::Tensor x = std::move(input.at(0));
  Norm::Result norm = norm_.forward(x);
  at::Tensor qkv = qkv_.forward(rows_of(norm.output));
  const auto parts = heads_of(qkv, x.size(0), heads_);
  auto [mixed, sums] =
      at::_scaled_dot_product_flash_attention_for_cpu(parts[0], parts[1], parts[2], 0.0, true);
  // The kernel's buffer is [B, T, heads, C / heads], so this is a view.
  at::Tensor y = out_.forward(mixed.transpose(1, 2).reshape({-1, x.size(2)})).view_as(x);
  drop(y, dropout_, context, name());
  y.add_(x);
  if (saved != nullptr)
    saved->tensors = {
        std::move(x),   std::move(norm.output), std::move(norm.mean), std::move(norm.inverse),
        std::move(qkv), std::move(mixed),       std::move(sums)};
  return {std::move(y)};
}

Tensors AttentionLayer::backward(Tensors output_grad, Saved saved, const LayerContext& context,
                                 WeightGradWork* later) {
  const at::Tensor& dy = output_grad.at(0);
  const auto& [x, normed, mean, inverse, qkv, mixed, sums] =
      std::tie(saved.tensors.at(0), saved.tensors.at(1), saved.tensors.at(2), saved.tensors.at(3),
               saved.tensors.at(4), saved.tensors.at(5), saved.tensors.at(6));
  const at::Tensor dout = rows_of(dropped_grad(dy, dropout_, context, name()));
  const auto parts = heads_of(qkv, x.size(0), heads_);
  const at::Tensor mixed_rows = mixed.transpose(1, 2).reshape({-1, x.size(2)});
  const at::Tensor dmixed = out_.backward(dout, mixed_rows, later)
                                .view({x.size(0), x.size(1), heads_, -1})
                                .transpose(1, 2);
  auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
      dmixed, parts[0], parts[1], parts[2], mixed, sums, 0.0, true);
  at::Tensor dqkv = at::empty_like(qkv);
  const auto dparts = heads_of(dqkv, x.size(0), heads_);
  dparts[0].copy_(dq);
  dparts[1].copy_(dk);
  dparts[2].copy_(dv);
  const at::Tensor dnormed = qkv_.backward(dqkv, rows_of(normed), later).view_as(x);
  at::Tensor dx = norm_.backward(dnormed, x, mean, inverse);
  dx.add_(dy);
  return {std::move(dx)};
}

MlpLayer::MlpLayer(const GptShape& shape, int block, std::uint64_t seed)
    : Layer(fmt::format("h.{}.mlp", block)),
      dropout_(shape.dropout),
      norm_(fmt::format("h.{}.ln_2", block), shape.d_model),
      up_(fmt::format("h.{}.mlp.c_fc", block), shape.d_model, shape.d_hidden, kDeviation, seed),
      down_(fmt::format("h.{}.mlp.c_proj", block), shape.d_hidden, shape.d_model,
            residual_deviation(shape), seed) {
  for (Parameter* p :
       {&norm_.weight, &norm_.bias, &up_.weight, &up_.bias, &down_.weight, &down_.bias})
    add(*p);
}

Tensors MlpLayer::forward(Tensors input, const LayerContext& context, Saved* saved) {
  at::Tensor x = std::move(input.at(0));
  Norm::Result norm = norm_.forward(x);
  at::Tensor wide = up_.forward(rows_of(norm.output));
  at::Tensor active = at::gelu(wide, "tanh");
  at::Tensor y = down_.forward(active).view_as(x);
  drop(y, dropout_, context, name());
  y.add_(x);
  if (saved != nullptr)
    saved->tensors = {std::move(x),         std::move(norm.output),
                      std::move(norm.mean), std::move(norm.inverse),
                      std::move(wide),      std::move(active)};
  return {std::move(y)};
}

Tensors MlpLayer::backward(Tensors output_grad, Saved saved, const LayerContext& context,
                           WeightGradWork* later) {
  const at::Tensor& dy = output_grad.at(0);
  const auto& [x, normed, mean, inverse, wide, active] =
      std::tie(saved.tensors.at(0), saved.tensors.at(1), saved.tensors.at(2), saved.tensors.at(3),
               saved.tensors.at(4), saved.tensors.at(5));
  const at::Tensor ddown = rows_of(dropped_grad(dy, dropout_, context, name()));
  const at::Tensor dactive = down_.backward(ddown, active, later);
  const at::Tensor dwide = at::gelu_backward(dactive, wide, "tanh");
  const at::Tensor dnormed = up_.backward(dwide, rows_of(normed), later).view_as(x);
  at::Tensor dx = norm_.backward(dnormed, x, mean, inverse);
  dx.add_(dy);
  return {std::move(dx)};
}

HeadLayer::HeadLayer(const GptShape& shape, std::uint64_t seed)
    : Layer("head"), norm_("ln_f", shape.d_model) {
  const std::string owner = shape.tied_head ? "wte.weight" : "lm_head.weight";
  words_ = make_parameter(
      "lm_head.weight", normal_weights(seed, owner, {shape.vocabulary, shape.d_model}, kDeviation));
  if (shape.tied_head) words_.tied_to = owner;
  for (Parameter* p : {&norm_.weight, &norm_.bias, &words_}) add(*p);
}

Tensors HeadLayer::forward(Tensors input, const LayerContext& /*context*/, Saved* saved) {
  at::Tensor x = std::move(input.at(0));
  Norm::Result norm = norm_.forward(x);
  at::Tensor logits = at::mm(rows_of(norm.output), words_.value.t());
  if (saved != nullptr)
    saved->tensors = {std::move(x), std::move(norm.output), std::move(norm.mean),
                      std::move(norm.inverse)};
  return {std::move(logits)};
}

Tensors HeadLayer::backward(Tensors output_grad, Saved saved, const LayerContext& /*context*/,
                            WeightGradWork* later) {
  const at::Tensor& dlogits = output_grad.at(0);
  const at::Tensor& x = saved.tensors.at(0);
  const at::Tensor normed = rows_of(saved.tensors.at(1));
  const at::Tensor dnormed = at::mm(dlogits, words_.value).view_as(x);
  now_or_later(later, [this, dlogits, normed] { accumulate_product(words_, dlogits, normed); });
  return {norm_.backward(dnormed, x, saved.tensors.at(2), saved.tensors.at(3))};
}

}  // namespace headrace::internal
