// SPDX-License-Identifier: Apache-2.0
#include "headrace/runtime/batch_source.h"

#include "headrace/data/batches.h"

#include <ATen/ATen.h>

#include <cstring>
#include <numeric>

namespace headrace {
namespace {

at::Tensor tensor_of(const std::vector<std::int64_t>& values, at::IntArrayRef shape) {
  at::Tensor tensor = at::empty(shape, at::kLong);
  std::memcpy(tensor.data_ptr(), values.data(), values.size() * sizeof(std::int64_t));
  return tensor;
}

}  // namespace

TrainingText::TrainingText(std::span<const std::uint8_t> text, int sequence, std::uint64_t seed,
                           std::vector<int> sizes)
    : text_(text), sequence_(sequence), seed_(seed), sizes_(std::move(sizes)) {}

at::Tensor TrainingText::inputs(std::int64_t step, int micro_batch) const {
  const auto k = static_cast<std::ptrdiff_t>(micro_batch);
  const int first = std::accumulate(sizes_.begin(), sizes_.begin() + k, 0);
  const int rows = sizes_[static_cast<std::size_t>(k)];
  const TokenBatch batch = training_rows(text_, sequence_, seed_, step, first, rows);
  return tensor_of(batch.inputs, {rows, sequence_});
}

at::Tensor TrainingText::targets(std::int64_t step, int micro_batch) const {
  const auto k = static_cast<std::ptrdiff_t>(micro_batch);
  const int first = std::accumulate(sizes_.begin(), sizes_.begin() + k, 0);
  const int rows = sizes_[static_cast<std::size_t>(k)];
  const TokenBatch batch = training_rows(text_, sequence_, seed_, step, first, rows);
  return tensor_of(batch.targets, {std::int64_t{rows} * sequence_});
}

std::int64_t TrainingText::total_targets(std::int64_t /*step*/) const {
  return std::int64_t{std::accumulate(sizes_.begin(), sizes_.end(), 0)} * sequence_;
}

EvaluationText::EvaluationText(std::span<const std::uint8_t> text, int sequence, int rows_each,
                               int micro_batches)
    : text_(text), sequence_(sequence), rows_each_(rows_each), micro_batches_(micro_batches) {}

at::Tensor EvaluationText::inputs(std::int64_t /*step*/, int micro_batch) const {
  const auto batch =
      evaluation_rows(text_, sequence_, std::int64_t{micro_batch} * rows_each_, rows_each_);
  return tensor_of(batch.inputs, {rows_each_, sequence_});
}

at::Tensor EvaluationText::targets(std::int64_t /*step*/, int micro_batch) const {
  const auto batch =
      evaluation_rows(text_, sequence_, std::int64_t{micro_batch} * rows_each_, rows_each_);
  return tensor_of(batch.targets, {std::int64_t{rows_each_} * sequence_});
}

std::int64_t EvaluationText::total_targets(std::int64_t /*step*/) const {
  return std::int64_t{micro_batches_} * rows_each_ * sequence_;
}

}  // namespace headrace
