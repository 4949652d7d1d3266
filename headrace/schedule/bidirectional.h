// SPDX-License-Identifier: Apache-2.0
//
// Micro-batches enter at both ends: every rank holds a copy of two stages (or more).
#pragma once

#include "headrace/schedule/schedule.h"

namespace headrace {

// Chimera (Li and Hoefler, SC'21) with `pairs` pipelines down and as many up; 2 * pairs copies of
// the weights. p even, `pairs` divides p / 2, m at most p or a multiple of p.
[[nodiscard]] Schedule chimera(int ranks, int micro_batches, int pairs = 1);

// DualPipe (DeepSeek-AI 2024): a forward of one direction overlaps a backward of the other. p even,
// m even, m >= 2p; the first half of the micro-batches enters at rank 0, the second at rank p - 1.
[[nodiscard]] Schedule dualpipe(int ranks, int micro_batches);

// DualPipe cut in half (Qi 2025): the same order on a V of two stages per rank, without copies. m
// >= 2p.
[[nodiscard]] Schedule dualpipe_v(int ranks, int micro_batches);

}  // namespace headrace
