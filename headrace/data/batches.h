// SPDX-License-Identifier: Apache-2.0
//
// Samples to batches to micro-batches, repeatable.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace headrace {

// Tokens of several samples, row by row: inputs[row * sequence + t] is followed by
// targets[row * sequence + t].
struct TokenBatch {
  int rows = 0;
  int sequence = 0;
  std::vector<std::int64_t> inputs;
  std::vector<std::int64_t> targets;

  bool operator==(const TokenBatch&) const = default;
};

// Sizes of the micro-batches of a batch: as even as possible, the longer ones first, none empty.
// rows = 8, m = 3 gives 3, 3, 2. Throws UsageError when m < 1 or m > rows.
[[nodiscard]] std::vector<int> micro_batch_sizes(int rows, int micro_batches);

// Rows [first, first + rows) of training step `step`: each starts at a place of `text` that depends
// on (seed, step, row) only, uniform over all places with `sequence` + 1 bytes after them.
[[nodiscard]] TokenBatch training_rows(std::span<const std::uint8_t> text, int sequence,
                                       std::uint64_t seed, std::int64_t step, int first, int rows);

// Rows for evaluation: row r of batch b starts at ((b * batch_rows + r) * sequence), in order
// through the text, wrapping at its end; the same for every seed and step.
[[nodiscard]] TokenBatch evaluation_rows(std::span<const std::uint8_t> text, int sequence,
                                         std::int64_t first_row, int rows);

}  // namespace headrace
