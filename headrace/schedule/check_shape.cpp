// SPDX-License-Identifier: Apache-2.0
#include "headrace/schedule/internal/checks.h"

#include <fmt/format.h>

#include <algorithm>

namespace headrace::internal {
namespace {

void add_shape(Violations& found, std::string message) {
  found.add_whole(Rule::Shape, -1, -1, [&] { return message; });
}

void check_copy(const Schedule& schedule, std::size_t copy, Violations& found) {
  const Placement& placement = schedule.copies[copy];
  if (placement.size() != schedule.copies.front().size())
    return add_shape(found, fmt::format("copy {} places {} stages, but copy 0 places {}; give each "
                                        "copy every stage.",
                                        copy, placement.size(), schedule.copies.front().size()));
  for (std::size_t stage = 0; stage < placement.size(); ++stage) {
    const RankId rank = placement[stage];
    if (rank.valid() && rank.value < schedule.rank_count()) continue;
    return add_shape(
        found, fmt::format("stage {} is placed on rank {}, but there are {} ranks; "
                           "place it on rank 0 to {}.",
                           stage, rank.value, schedule.rank_count(), schedule.rank_count() - 1));
  }
}

void check_copies(const Schedule& schedule, Violations& found) {
  for (std::size_t copy = 0; copy < schedule.copies.size(); ++copy)
    check_copy(schedule, copy, found);
  if (!found.empty()) return;
  for (std::size_t stage = 0; stage < schedule.copies.front().size(); ++stage) {
    std::vector<int> copy_on(schedule.ranks.size(), -1);
    for (std::size_t copy = 0; copy < schedule.copies.size(); ++copy) {
      int& other = copy_on[schedule.copies[copy][stage].index()];
      if (other >= 0)
        return add_shape(found,
                         fmt::format("rank {} holds copy {} and copy {} of stage {}; a rank "
                                     "holds a stage once.",
                                     schedule.copies[copy][stage].value, other, copy, stage));
      other = static_cast<int>(copy);
    }
  }
}

void check_flow(const Schedule& schedule, Violations& found) {
  if (schedule.flow.empty()) {
    if (schedule.copies.size() > 1)
      add_shape(found, fmt::format("{} copies of each stage, but no flow that says which one each "
                                   "micro-batch takes; add it.",
                                   schedule.copies.size()));
    return;
  }
  if (schedule.flow.size() != static_cast<std::size_t>(schedule.micro_batches))
    return add_shape(found, fmt::format("flow names a copy for {} micro-batches, but there are {}.",
                                        schedule.flow.size(), schedule.micro_batches));
  for (std::size_t k = 0; k < schedule.flow.size(); ++k)
    if (schedule.flow[k] < 0 || schedule.flow[k] >= static_cast<int>(schedule.copies.size()))
      return add_shape(found, fmt::format("micro-batch {} flows through copy {}, but there are {}.",
                                          k, schedule.flow[k], schedule.copies.size()));
}

void check_hosts(const Schedule& schedule, Violations& found) {
  if (schedule.hosts.empty()) return;
  if (schedule.hosts.size() != schedule.ranks.size())
    return add_shape(found, fmt::format("hosts are given for {} ranks, but there are {}.",
                                        schedule.hosts.size(), schedule.ranks.size()));
  for (std::size_t r = 0; r < schedule.hosts.size(); ++r)
    if (!schedule.hosts[r].valid() || schedule.hosts[r].value >= schedule.rank_count())
      return add_shape(found, fmt::format("rank {} has host {}, but there are {} ranks.", r,
                                          schedule.hosts[r].value, schedule.rank_count()));
}

void check_weights(const Schedule& schedule, Violations& found) {
  const WeightPolicy& weights = schedule.weights;
  if (!weights.versions.empty() &&
      static_cast<int>(weights.versions.size()) != schedule.stage_count())
    return add_shape(found,
                     fmt::format("weight versions are given for {} stages, but there are {}.",
                                 weights.versions.size(), schedule.stage_count()));
  for (std::size_t s = 0; s < weights.versions.size(); ++s)
    if (weights.versions[s] < 1)
      return add_shape(found, fmt::format("stage {} keeps {} weight versions; it needs 1 or more.",
                                          s, weights.versions[s]));
  if (weights.micro_batches_per_update < 0 ||
      weights.micro_batches_per_update > schedule.micro_batches)
    add_shape(found, fmt::format("an update takes {} micro-batches, but there are {}.",
                                 weights.micro_batches_per_update, schedule.micro_batches));
}

}  // namespace

void check_shape(const Schedule& schedule, Violations& found) {
  if (schedule.ranks.empty() || schedule.stage_count() < 1 || schedule.micro_batches < 1 ||
      schedule.slices < 1)
    return add_shape(found, fmt::format("{} ranks, {} stages, {} micro-batches and {} slices; each "
                                        "must be 1 or more.",
                                        schedule.ranks.size(), schedule.stage_count(),
                                        schedule.micro_batches, schedule.slices));
  check_copies(schedule, found);
  check_flow(schedule, found);
  check_hosts(schedule, found);
  check_weights(schedule, found);
  if (!found.empty()) return;
  // Each (stage, micro-batch, slice) needs a forward at least. Where the lists are too short for
  // that, say so here: tables for the declared sizes might not fit in memory.
  const auto forwards = std::int64_t{schedule.stage_count()} * schedule.micro_batches;
  const auto actions = static_cast<std::int64_t>(schedule.action_count());
  if (forwards > actions || forwards * schedule.slices > actions)
    found.add_whole(Rule::Missing, -1, -1, [&] {
      return fmt::format(
          "{} stages x {} micro-batches x {} slices need as many forwards, but all lists together "
          "hold {} actions; add the missing ones, or lower the sizes.",
          schedule.stage_count(), schedule.micro_batches, schedule.slices, actions);
    });
}

}  // namespace headrace::internal
