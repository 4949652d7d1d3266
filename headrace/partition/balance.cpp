// SPDX-License-Identifier: Apache-2.0
//
// The smallest possible weight of the heaviest stage, by bisection over whole numbers: whether a
// bound can be met is decided by filling stage after stage as far as the bound allows.
//
//   weights 5 1 1 1 4 | bound 6, 3 stages:  [5 1] [1 1 4]     met with 2, so also with 3
//                     | bound 4:            5 alone is over   not met
#include "headrace/base/error.h"
#include "headrace/partition/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace headrace {
namespace {

// Layers of the prefix that fits under `bound`, leaving one layer for each of the `later` stages.
int fill(std::span<const std::int64_t> weights, int first, int later, std::int64_t bound) {
  const int limit = static_cast<int>(weights.size()) - later;
  std::int64_t sum = 0;
  int at = first;
  while (at < limit && weights[static_cast<std::size_t>(at)] <= bound - sum)
    sum += weights[static_cast<std::size_t>(at++)];
  return at - first;
}

// Whether layers [first, n) fit into `stages` stages under `bound`, none of them empty.
bool fits(std::span<const std::int64_t> weights, int first, int stages, std::int64_t bound) {
  for (int later = stages - 1; later >= 0; --later) {
    const int taken = fill(weights, first, later, bound);
    if (taken == 0) return false;
    first += taken;
  }
  return first == static_cast<int>(weights.size());
}

// Entry i: the fewest stages under `bound` that hold layers [i, n). Both ends of the window
// [first, last) of the first of them only move down, so this takes O(n).
std::vector<int> fewest_stages(std::span<const std::int64_t> weights, std::int64_t bound) {
  std::vector<int> fewest(weights.size() + 1, 0);
  std::size_t last = weights.size();
  std::int64_t sum = 0;
  for (std::size_t first = weights.size(); first-- > 0;) {
    sum += weights[first];
    while (sum > bound) sum -= weights[--last];
    fewest[first] = 1 + fewest[last];
  }
  return fewest;
}

}  // namespace

Partition balance_layers(std::span<const std::int64_t> weights, int stages) {
  const int layers = static_cast<int>(weights.size());
  if (stages < 1) throw UsageError(fmt::format("{} stages; expected 1 or more", stages));
  if (layers < stages)
    throw UsageError(fmt::format("{} stages but only {} layers; use {} stages or fewer", stages,
                                 layers, layers));
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (const std::int64_t weight : weights) {
    HEADRACE_CHECK(weight >= 0 && high <= INT64_MAX - weight, "layer weights that sum to {}", high);
    low = std::max(low, weight);
    high += weight;
  }
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (fits(weights, 0, stages, middle))
      high = middle;
    else
      low = middle + 1;
  }
  // The earliest cuts: each stage takes as few layers as leave the rest feasible.
  const std::vector<int> fewest = fewest_stages(weights, high);
  Partition partition;
  int first = 0;
  for (int later = stages - 1; later >= 0; --later) {
    int last = first + 1;
    while (later > 0 ? fewest[static_cast<std::size_t>(last)] > later : last < layers) ++last;
    partition.stages.push_back({first, last});
    first = last;
  }
  return partition;
}

}  // namespace headrace
