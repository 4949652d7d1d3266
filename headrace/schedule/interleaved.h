// SPDX-License-Identifier: Apache-2.0
//
// Several stages per rank in a loop: stage s lives on rank s mod p.
#pragma once

#include "headrace/schedule/schedule.h"

namespace headrace {

// Sizes of the looped methods. `group` micro-batches are run through a stage before the next stage
// of the rank takes its turn; 0 takes the method's own choice.
struct LoopedSizes {
  int ranks = 1;
  int micro_batches = 1;
  int stages_per_rank = 2;
  int group = 0;
};

// Megatron's interleaved 1F1B (Narayanan et al. 2021), "depth-first". Without a group, the group is
// p where p divides m; else, as PyTorch has it, the largest m / r of r = max(1, m / p) rounds, if r
// divides m. Refuses groups whose last one is shorter than p: such a list can deadlock.
[[nodiscard]] Schedule interleaved_one_f_one_b(const LoopedSizes& sizes);

// Lamy-Poirier's looped breadth-first pipeline (2022): each stage of a rank takes all micro-batches
// before the next; the backward from the last micro-batch to the first. Any m >= 1.
[[nodiscard]] Schedule looped_bfs(int ranks, int micro_batches, int stages_per_rank);

// Interleaved 1F1B with the backward split and weight gradients put off (PyTorch's
// ScheduleInterleavedZeroBubble). Groups as in PyTorch.
[[nodiscard]] Schedule interleaved_zero_bubble(const LoopedSizes& sizes);

}  // namespace headrace
