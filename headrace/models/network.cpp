// SPDX-License-Identifier: Apache-2.0
#include "headrace/models/network.h"

namespace headrace {

ModelProfile profile_of(const Network& network, BatchShape shape) {
  constexpr std::int64_t kFloat = 4;
  ModelProfile profile;
  profile.name = network.name;
  for (const LayerSpec& spec : network.layers) {
    LayerProfile& layer = profile.layers.emplace_back();
    layer.name = spec.name;
    layer.flops = spec.forward_flops(shape);
    layer.parameters = spec.parameters;
    layer.weights = Bytes(kFloat * spec.parameters);
    layer.activation = Bytes(kFloat * spec.saved_elements(shape));
    layer.output = Bytes(kFloat * spec.output_elements(shape));
  }
  return profile;
}

}  // namespace headrace
