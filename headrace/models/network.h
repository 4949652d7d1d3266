// SPDX-License-Identifier: Apache-2.0
//
// The description of a network: cheap to make anywhere, so that each rank builds only its layers.
#pragma once

#include "headrace/cost/model_profile.h"
#include "headrace/models/layer.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace headrace {

// Rows are samples of a micro-batch, each of `sequence` tokens (1 where there are no sequences).
struct BatchShape {
  std::int64_t rows = 1;
  std::int64_t sequence = 1;
};

struct LayerSpec {
  std::string name;
  std::int64_t parameters = 0;
  // Multiply-adds of the forward count as 2; the backward costs twice as much.
  std::function<std::int64_t(BatchShape)> forward_flops;
  // Elements of the output, which cross a cut right after this layer.
  std::function<std::int64_t(BatchShape)> output_elements;
  // Elements kept from the forward for the backward, the input not counted.
  std::function<std::int64_t(BatchShape)> saved_elements;
  // Builds the layer with its initial weights, which depend on `seed` and their names only.
  std::function<std::unique_ptr<Layer>(std::uint64_t seed)> make;
};

struct Network {
  std::string name;
  std::vector<LayerSpec> layers;
};

// What each layer costs in FLOPs and bytes of float32; times are zero, for they need a device.
[[nodiscard]] ModelProfile profile_of(const Network& network, BatchShape shape);

}  // namespace headrace
