// SPDX-License-Identifier: Apache-2.0
//
// Where the first stage gets its inputs and the last one its targets. Both ask for themselves, so
// samples never travel through the pipeline.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

namespace headrace {

class BatchSource {
 public:
  virtual ~BatchSource() = default;

  // The input values and the targets of one micro-batch; equal whichever rank asks, and when.
  [[nodiscard]] virtual at::Tensor inputs(std::int64_t step, int micro_batch) const = 0;
  [[nodiscard]] virtual at::Tensor targets(std::int64_t step, int micro_batch) const = 0;
  // Targets that count over all micro-batches of the step: what losses are divided by.
  [[nodiscard]] virtual std::int64_t total_targets(std::int64_t step) const = 0;
};

// Training batches of a text: inputs [B, T] of int64, targets [B * T].
class TrainingText : public BatchSource {
 public:
  // `sizes[k]` is the number of rows of micro-batch k.
  TrainingText(std::span<const std::uint8_t> text, int sequence, std::uint64_t seed,
               std::vector<int> sizes);
  [[nodiscard]] at::Tensor inputs(std::int64_t step, int micro_batch) const override;
  [[nodiscard]] at::Tensor targets(std::int64_t step, int micro_batch) const override;
  [[nodiscard]] std::int64_t total_targets(std::int64_t step) const override;

 private:
  std::span<const std::uint8_t> text_;
  int sequence_;
  std::uint64_t seed_;
  std::vector<int> sizes_;
};

// The same rows of a held-out text at every evaluation, in order, sizes[k] in micro-batch k.
class EvaluationText : public BatchSource {
 public:
  EvaluationText(std::span<const std::uint8_t> text, int sequence, std::vector<int> sizes);
  [[nodiscard]] at::Tensor inputs(std::int64_t step, int micro_batch) const override;
  [[nodiscard]] at::Tensor targets(std::int64_t step, int micro_batch) const override;
  [[nodiscard]] std::int64_t total_targets(std::int64_t step) const override;

 private:
  std::span<const std::uint8_t> text_;
  int sequence_;
  std::vector<int> sizes_;
};

}  // namespace headrace
