// SPDX-License-Identifier: Apache-2.0
//
// One number for a whole result: equal digests mean bit-for-bit equal results.
#pragma once

#include "headrace/runtime/trainer.h"

#include <span>
#include <string>
#include <vector>

namespace headrace {

// SHA-256, in hexadecimal, over the losses (as doubles), then the weights, then the optimizer
// state: each as name, type, shape and bytes, in the order given.
[[nodiscard]] std::string digest_of(std::span<const double> losses,
                                    std::span<const NamedTensor> weights,
                                    std::span<const NamedTensor> optimizer);

}  // namespace headrace
