// SPDX-License-Identifier: Apache-2.0
#include "headrace/runtime/batch_source.h"

#include "headrace/data/batches.h"

#include <ATen/ATen.h>

#include <cstring>
#include <numeric>

namespace headrace {
namespace {

// Rows of a batch that come before micro-batch k, and the rows in it.
struct Rows {
  int first = 0;
  int count = 0;
};

Rows rows_of(const std::vector<int>& sizes, int k) {
  const auto end = sizes.begin() + static_cast<std::ptrdiff_t>(k);
  return {std::accumulate(sizes.begin(), end, 0), *end};
}

std::int64_t all_rows(const std::vector<int>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
}

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
  const Rows rows = rows_of(sizes_, micro_batch);
  const auto batch = training_rows(text_, sequence_, seed_, step, rows.first, rows.count);
  return tensor_of(batch.inputs, {rows.count, sequence_});
}

at::Tensor TrainingText::targets(std::int64_t step, int micro_batch) const {
  const Rows rows = rows_of(sizes_, micro_batch);
  const auto batch = training_rows(text_, sequence_, seed_, step, rows.first, rows.count);
  return tensor_of(batch.targets, {std::int64_t{rows.count} * sequence_});
}

std::int64_t TrainingText::total_targets(std::int64_t /*step*/) const {
  return all_rows(sizes_) * sequence_;
}

EvaluationText::EvaluationText(std::span<const std::uint8_t> text, int sequence,
                               std::vector<int> sizes)
    : text_(text), sequence_(sequence), sizes_(std::move(sizes)) {}

at::Tensor EvaluationText::inputs(std::int64_t /*step*/, int micro_batch) const {
  const Rows rows = rows_of(sizes_, micro_batch);
  const auto batch = evaluation_rows(text_, sequence_, rows.first, rows.count);
  return tensor_of(batch.inputs, {rows.count, sequence_});
}

at::Tensor EvaluationText::targets(std::int64_t /*step*/, int micro_batch) const {
  const Rows rows = rows_of(sizes_, micro_batch);
  const auto batch = evaluation_rows(text_, sequence_, rows.first, rows.count);
  return tensor_of(batch.targets, {std::int64_t{rows.count} * sequence_});
}

std::int64_t EvaluationText::total_targets(std::int64_t /*step*/) const {
  return all_rows(sizes_) * sequence_;
}

}  // namespace headrace
