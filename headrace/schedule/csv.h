// SPDX-License-Identifier: Apache-2.0
//
// The CSV of torch.distributed.pipelining: one line per rank, cells separated by commas.
// compute-only: F, B, I, W and overlapped pairs, empty cells allowed. Lowered: also SEND_*, RECV_*,
// REDUCE_GRAD, and the UNSHARD and RESHARD of FSDP, which are read and dropped.
#pragma once

#include "headrace/schedule/schedule.h"

#include <string>
#include <string_view>

namespace headrace {

// Writes the CSV. Throws UsageError for what it cannot hold: slices, several copies, evictions,
// asynchronous weights.
[[nodiscard]] std::string to_csv(const Schedule& schedule);

// Placement, micro-batch count and stage count are inferred from the cells, as PyTorch does.
// Throws ParseError "SOURCE:ROW:COLUMN: ..." that quotes the token and says what is expected.
[[nodiscard]] Schedule parse_csv(std::string_view text, std::string_view source);

}  // namespace headrace
