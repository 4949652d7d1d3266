// SPDX-License-Identifier: Apache-2.0
//
// Memory for CPU tensors: blocks are kept and reused instead of going back to the system, and every
// byte is charged to the rank whose thread asked for it.
//
//   [ header: size class, bytes, rank | 64-byte aligned data of the tensor ... ]
//
// A training step frees and takes the same sizes again and again; without reuse, fresh pages cost
// a fault each, which can double the time of a step. Sizes are rounded up to eighths of a power
// of 2.
#pragma once

#include "headrace/base/ids.h"
#include "headrace/base/units.h"

#include <ATen/core/Tensor.h>

#include <optional>

namespace headrace {

struct CpuAllocatorOptions {
  bool reuse = true;    // false: every block goes back at once, for sanitizers
  bool poison = false;  // fill fresh and freed blocks with a NaN pattern, to find stale reads
};

// Makes it PyTorch's CPU allocator for the rest of the process; call it before the first tensor.
// Without `options`, those of an earlier call stay.
void install_cpu_allocator(const std::optional<CpuAllocatorOptions>& options = {});

// From now on the calling thread's tensors are charged to `rank`; not valid(): to no rank.
void charge_this_thread_to(RankId rank);

// The memory of a tensor that another rank handed over counts for the calling thread's rank from
// now on. Memory that is not from this allocator stays as it is.
void take_charge_of(const at::Tensor& tensor);

// What the rank's tensors take now, and the most they took since the last reset. A tensor counts
// for the rank that made it, or that last took charge of it, until it is freed, whichever thread
// frees it.
[[nodiscard]] Bytes bytes_held_by(RankId rank);
[[nodiscard]] Bytes peak_bytes_of(RankId rank);
void reset_peak_bytes(RankId rank);

// Gives unused blocks back to the system; returns their bytes.
Bytes trim_cpu_allocator();

}  // namespace headrace
