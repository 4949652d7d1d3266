// SPDX-License-Identifier: Apache-2.0
#include "headrace/simulate/internal/memory_curve.h"

#include <algorithm>

namespace headrace::internal {

bool has_bytes(const StageCosts& costs) {
  return std::any_of(costs.stages.begin(), costs.stages.end(), [](const StageCost& s) {
    return s.weights.value + s.gradients.value + s.optimizer.value + s.activation.value +
               s.working.value >
           0;
  });
}

MemoryCurve::MemoryCurve(const Schedule& schedule, const StageCosts& costs)
    : schedule_(schedule),
      costs_(costs),
      base_(schedule.ranks.size(), 0),
      changes_(schedule.ranks.size()) {
  const auto& versions = schedule.weights.versions;
  for (const Placement& placement : schedule.copies)
    for (std::size_t s = 0; s < placement.size(); ++s) {
      const StageCost& stage = costs.stages[s];
      const std::int64_t held = versions.empty() ? 1 : versions[s];
      base_[placement[s].index()] +=
          stage.weights.value * held + stage.gradients.value + stage.optimizer.value;
    }
  for (const auto& list : schedule.ranks)
    for (const Action& a : list)
      if (is_compute(a.kind) && a.kind != ActionKind::Forward) forward_only_ = false;
}

void MemoryCurve::add(std::size_t rank, Time at, std::int64_t bytes, int live) {
  changes_[rank].push_back({at, bytes, live});
}

void MemoryCurve::ran(std::size_t rank, const Action& action, Time start, Time end) {
  const StageCost& stage = costs_.stages[action.stage.index()];
  const std::int64_t activation = stage.activation.value;
  const std::int64_t early = stage.freed_by_input_grad.value;
  std::int64_t taken = stage.working.value;
  std::int64_t freed = stage.working.value;
  int born = 0;
  int died = 0;
  switch (action.kind) {
    case ActionKind::Forward:
      taken += activation;
      born = 1;
      if (!forward_only_) break;
      freed += activation;
      died = 1;
      break;
    case ActionKind::Backward:
      freed += activation;
      died = 1;
      break;
    case ActionKind::InputGrad:
      freed += early;
      break;
    case ActionKind::WeightGrad:
      freed += activation - early;
      died = 1;
      break;
    case ActionKind::Recompute:
      break;
    default:
      return;
  }
  add(rank, start, taken, born);
  add(rank, end, -freed, -died);
}

void MemoryCurve::evicted(std::size_t rank, const Action& action, Time start, Time end) {
  const std::int64_t bytes = costs_.stages[action.stage.index()].activation.value;
  add(schedule_.hosts[rank].index(), start, bytes, 1);
  add(rank, end, -bytes, -1);
}

void MemoryCurve::loaded(std::size_t rank, const Action& action, Time start, Time end) {
  const std::int64_t bytes = costs_.stages[action.stage.index()].activation.value;
  add(rank, start, bytes, 1);
  add(schedule_.hosts[rank].index(), end, -bytes, -1);
}

void MemoryCurve::write(Timeline& timeline, bool with_bytes) const {
  for (std::size_t rank = 0; rank < changes_.size(); ++rank) {
    auto changes = changes_[rank];
    std::stable_sort(changes.begin(), changes.end(),
                     [](const Change& a, const Change& b) { return a.at < b.at; });
    RankTimeline& out = timeline.ranks[rank];
    std::int64_t held = base_[rank];
    int live = 0;
    if (with_bytes) out.memory.push_back({Time(0), Bytes(held)});
    for (const Change& change : changes) {
      live += change.live;
      out.peak_live = std::max(out.peak_live, live);
      held += change.bytes;
      if (with_bytes && change.bytes != 0) out.memory.push_back({change.at, Bytes(held)});
    }
  }
}

}  // namespace headrace::internal
