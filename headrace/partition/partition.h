// SPDX-License-Identifier: Apache-2.0
//
// Which layers form which stage.
#pragma once

#include "headrace/base/ids.h"
#include "headrace/cost/model_profile.h"
#include "headrace/cost/stage_costs.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

// Layers [first, last) of the network.
struct LayerRange {
  int first = 0;
  int last = 0;

  bool operator==(const LayerRange&) const = default;
  [[nodiscard]] int size() const { return last - first; }
};

// Entry s is the layers of stage s; they follow each other and cover all layers exactly once.
struct Partition {
  std::vector<LayerRange> stages;

  bool operator==(const Partition&) const = default;
  [[nodiscard]] int layer_count() const { return stages.empty() ? 0 : stages.back().last; }
};

// "5,3" : layers per stage. Throws UsageError unless all are positive and sum to `layers`.
[[nodiscard]] Partition partition_from_counts(std::span<const int> counts, int layers);
[[nodiscard]] std::string to_text(const Partition& partition);

// Cuts layers of the given non-negative weights into `stages` stages of at least one layer each, so
// that the heaviest stage is as light as possible: the exact optimum. Among the optima, the one
// with the earliest cuts, read from the front, so that the answer is always the same. Throws
// UsageError when there are fewer layers than stages. Takes O(n log(sum of weights)) time
// (Parametric search over the bound; see Pinar and Aykanat, "Fast optimal load balancing algorithms
// for 1D partitioning", 2004).
[[nodiscard]] Partition balance_layers(std::span<const std::int64_t> weights, int stages);

// The costs of each stage of a cut: sums over its layers; `output` is that of its last layer.
// Throws UsageError when the partition has another number of layers than the profile.
[[nodiscard]] StageCosts stage_costs(const ModelProfile& profile, const Partition& partition);

}  // namespace headrace
