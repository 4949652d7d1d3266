// SPDX-License-Identifier: Apache-2.0
//
// Cross-entropy weighted by tokens: what the last stage does with its output.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace headrace {

inline constexpr std::int64_t kIgnoredTarget = -100;

// The number of targets that count, those that are not kIgnoredTarget.
[[nodiscard]] std::int64_t counted_targets(const at::Tensor& targets);

// Sum over the rows of `logits` [N, V] of -log softmax(logits)[target], over `total_tokens`, so
// that the losses of all micro-batches add up to the mean over the tokens of the batch. Rows whose
// target is kIgnoredTarget count nothing. The sum is taken in double.
//
// With `with_grad`, `logits` is overwritten by the gradient of that loss: softmax and gradient are
// made a few rows at a time in the buffer itself, so no second copy of the logits ever exists.
// Without, `logits` is left undefined in value.
[[nodiscard]] double cross_entropy(at::Tensor& logits, const at::Tensor& targets,
                                   std::int64_t total_tokens, bool with_grad);

}  // namespace headrace
