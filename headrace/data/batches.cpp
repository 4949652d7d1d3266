// SPDX-License-Identifier: Apache-2.0
#include "headrace/data/batches.h"

#include "headrace/base/error.h"
#include "headrace/base/random.h"

#include <fmt/format.h>

namespace headrace {
namespace {

void append_row(std::span<const std::uint8_t> text, std::size_t start, TokenBatch& batch) {
  for (int t = 0; t < batch.sequence; ++t) {
    const std::size_t at = start + static_cast<std::size_t>(t);
    batch.inputs.push_back(text[at]);
    batch.targets.push_back(text[at + 1]);
  }
}

void check_text(std::span<const std::uint8_t> text, int sequence) {
  if (text.size() < static_cast<std::size_t>(sequence) + 1)
    throw UsageError(fmt::format("the text has {} bytes, but a sequence of {} needs {}",
                                 text.size(), sequence, sequence + 1));
}

}  // namespace

std::vector<int> micro_batch_sizes(int rows, int micro_batches) {
  if (micro_batches < 1 || micro_batches > rows)
    throw UsageError(
        fmt::format("a batch of {} rows cannot be cut into {} micro-batches; use 1 to "
                    "{}",
                    rows, micro_batches, rows));
  std::vector<int> sizes;
  for (int k = 0; k < micro_batches; ++k)
    sizes.push_back(rows / micro_batches + (k < rows % micro_batches ? 1 : 0));
  return sizes;
}

TokenBatch training_rows(std::span<const std::uint8_t> text, int sequence, std::uint64_t seed,
                         std::int64_t step, int first, int rows) {
  check_text(text, sequence);
  TokenBatch batch{rows, sequence, {}, {}};
  const std::uint64_t own = derive_seed(seed, "data");
  const std::uint64_t places = text.size() - static_cast<std::size_t>(sequence);
  for (int row = first; row < first + rows; ++row) {
    const RandomCounter counter{static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(step),
                                static_cast<std::uint32_t>(step >> 32), 0};
    append_row(text, random_below(own, counter, places), batch);
  }
  return batch;
}

TokenBatch evaluation_rows(std::span<const std::uint8_t> text, int sequence, std::int64_t first_row,
                           int rows) {
  check_text(text, sequence);
  TokenBatch batch{rows, sequence, {}, {}};
  const std::int64_t whole = (static_cast<std::int64_t>(text.size()) - 1) / sequence;
  for (std::int64_t row = first_row; row < first_row + rows; ++row)
    append_row(text, static_cast<std::size_t>(row % whole * sequence), batch);
  return batch;
}

}  // namespace headrace
