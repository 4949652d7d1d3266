// SPDX-License-Identifier: Apache-2.0
#include "headrace/partition/partition.h"

#include "headrace/base/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace headrace {

Partition partition_from_counts(std::span<const int> counts, int layers) {
  Partition partition;
  int first = 0;
  for (std::size_t stage = 0; stage < counts.size(); ++stage) {
    if (counts[stage] < 1)
      throw UsageError(fmt::format("cut: stage {} has {} layers; each stage needs 1 or more", stage,
                                   counts[stage]));
    if (counts[stage] > layers - first)
      throw UsageError(fmt::format("cut: {} give more than the {} layers there are",
                                   fmt::join(counts, " + "), layers));
    partition.stages.push_back({first, first + counts[stage]});
    first += counts[stage];
  }
  if (first != layers)
    throw UsageError(fmt::format("cut: {} = {} layers, but there are {}", fmt::join(counts, " + "),
                                 first, layers));
  return partition;
}

std::string to_text(const Partition& partition) {
  std::vector<int> counts;
  for (const LayerRange& range : partition.stages) counts.push_back(range.size());
  return fmt::format("{}", fmt::join(counts, ","));
}

StageCosts stage_costs(const ModelProfile& profile, const Partition& partition) {
  if (partition.layer_count() != static_cast<int>(profile.layers.size()))
    throw UsageError(fmt::format("the cut covers {} layers, but the profile has {}",
                                 partition.layer_count(), profile.layers.size()));
  StageCosts costs;
  for (const LayerRange& range : partition.stages) {
    StageCost& stage = costs.stages.emplace_back();
    for (int at = range.first; at < range.last; ++at) {
      const LayerProfile& layer = profile.layers[static_cast<std::size_t>(at)];
      stage.forward += layer.forward;
      stage.input_grad += layer.input_grad;
      stage.weight_grad += layer.weight_grad;
      stage.weights += layer.weights;
      stage.gradients += layer.weights;
      stage.activation += layer.activation;
      stage.output = layer.output;
    }
  }
  return costs;
}

}  // namespace headrace
