// SPDX-License-Identifier: Apache-2.0
#include "headrace/models/loss.h"

#include "headrace/base/error.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

namespace headrace {
namespace {

// About a megabyte of float32 at a time, so that the passes over a chunk stay in the cache.
std::int64_t rows_per_chunk(std::int64_t columns) {
  return std::max<std::int64_t>(1, 262144 / std::max<std::int64_t>(1, columns));
}

}  // namespace

std::int64_t counted_targets(const at::Tensor& targets) {
  return targets.ne(kIgnoredTarget).sum().item<std::int64_t>();
}

double cross_entropy(at::Tensor& logits, const at::Tensor& targets, std::int64_t total_tokens,
                     bool with_grad) {
  HEADRACE_CHECK(logits.dim() == 2 && targets.dim() == 1 && logits.size(0) == targets.size(0),
                 "logits of {} dimensions and {} targets", logits.dim(), targets.numel());
  if (total_tokens < 1)
    throw UsageError(fmt::format(
        "cross-entropy: the batch has {} targets that count; give at least one", total_tokens));
  const std::int64_t rows = logits.size(0);
  const double scale = 1.0 / static_cast<double>(total_tokens);
  const std::int64_t step = rows_per_chunk(logits.size(1));
  double sum = 0;
  for (std::int64_t first = 0; first < rows; first += step) {
    const std::int64_t count = std::min(step, rows - first);
    at::Tensor chunk = logits.narrow(0, first, count);
    const at::Tensor wanted = targets.narrow(0, first, count).unsqueeze(1);
    const at::Tensor ignored = wanted.eq(kIgnoredTarget);
    const at::Tensor counts = ignored.logical_not().to(at::kFloat);
    const at::Tensor place = wanted.masked_fill(ignored, 0);
    chunk.sub_(chunk.amax(1, true));
    const at::Tensor picked = chunk.gather(1, place);
    chunk.exp_();
    const at::Tensor total = chunk.sum(1, true);
    sum += total.log().sub_(picked).mul_(counts).to(at::kDouble).sum().item<double>();
    if (!with_grad) continue;
    const at::Tensor weight = counts.mul(scale);
    chunk.mul_(weight / total);
    chunk.scatter_add_(1, place, weight.neg());
  }
  return sum * scale;
}

}  // namespace headrace
