// SPDX-License-Identifier: Apache-2.0
//
// What each layer of a network costs: measured, computed from formulas, or written by hand.
#pragma once

#include "headrace/base/units.h"

#include <cstdint>
#include <string>
#include <vector>

namespace headrace {

// One layer, for one micro-batch of the profile's size.
struct LayerProfile {
  std::string name;
  Time forward{};
  Time input_grad{};
  Time weight_grad{};
  std::int64_t flops = 0;  // of the forward; 0 where unknown
  std::int64_t parameters = 0;
  Bytes weights{};
  Bytes activation{};  // held from F to its release
  Bytes output{};      // what crosses a cut right after this layer

  bool operator==(const LayerProfile&) const = default;
};

struct ModelProfile {
  std::string name;
  std::vector<LayerProfile> layers;

  bool operator==(const ModelProfile&) const = default;
};

}  // namespace headrace
