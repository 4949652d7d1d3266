// SPDX-License-Identifier: Apache-2.0
//
// Initial weights from counters: equal for equal (seed, name), whatever the cut or the order.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace headrace {

// float32, normal with mean 0 and the given deviation (Box-Muller over Philox words).
[[nodiscard]] at::Tensor normal_weights(std::uint64_t seed, const std::string& name,
                                        at::IntArrayRef shape, double deviation);

// A mask of the shape of `like`, 0 with probability `rate` and 1 / (1 - rate) else; equal for equal
// (seed, step, micro-batch, slice, site), so a recomputed forward draws it again.
[[nodiscard]] at::Tensor dropout_mask(const at::Tensor& like, double rate, std::uint64_t seed,
                                      std::int64_t step, std::int32_t micro_batch,
                                      std::int32_t slice, const std::string& site);

}  // namespace headrace
