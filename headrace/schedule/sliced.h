// SPDX-License-Identifier: Apache-2.0
//
// Micro-batches cut along the sequence: a slice reads the keys and values of the slices before it,
// and its backward needs the gradients of theirs from the slices after it.
#pragma once

#include "headrace/schedule/schedule.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace headrace {

// TeraPipe (Li et al., ICML'21): GPipe over slices. Any p, m, slices >= 1.
[[nodiscard]] Schedule terapipe(int ranks, int micro_batches, int slices);

// Seq1F1B (Sun et al. 2024): 1F1B over slices, the backward of a micro-batch from its last slice
// on.
[[nodiscard]] Schedule seq1f1b(int ranks, int micro_batches, int slices);

// TeraPipe's slicing. A sequence of `length` units is cut so that the time of one pass over `ranks`
// ranks, sum of the slices' times + (ranks - 1) * longest slice, is least. time(l, c) is the time
// of l units after c units of context; it must not be negative. Ties go to the earlier, longer
// slices. Dynamic programming for every candidate of the longest slice: O(length^2 * candidates).
struct Slicing {
  std::vector<int> lengths;
  std::int64_t time = 0;
};
[[nodiscard]] Slicing slice_sequence(int length, int ranks,
                                     const std::function<std::int64_t(int, int)>& time);

}  // namespace headrace
