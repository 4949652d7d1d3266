// SPDX-License-Identifier: Apache-2.0
//
// Rules about what a rank holds: evicted activations and weight versions.
#include "headrace/schedule/internal/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace headrace::internal {
namespace {

using Key = std::tuple<StageId, MicroBatchId, int>;

enum class Where { Here, Away };

class EvictionCheck {
 public:
  EvictionCheck(const Schedule& schedule, std::size_t rank, Violations& found)
      : schedule_(schedule), rank_(rank), found_(found) {}

  void run() {
    const auto& list = schedule_.ranks[rank_];
    for (std::size_t at = 0; at < list.size(); ++at) step(list[at], at);
    for (const auto& [key, where] : activations_)
      if (where == Where::Away) {
        const auto& [stage, k, slice] = key;
        const Action load{ActionKind::Load, false, static_cast<std::int16_t>(slice), stage, k};
        found_.add(Rule::Eviction, rank_, list.size() - 1, [&] {
          return fmt::format(
              "rank {}: {} never comes, although the activation was evicted. Add it.", rank_,
              to_text(load, schedule_.slices > 1));
        });
      }
  }

 private:
  void step(const Action& a, std::size_t at) {
    const Key key{a.stage, a.micro_batch, a.slice};
    const auto entry = activations_.find(key);
    const bool held = entry != activations_.end();
    switch (a.kind) {
      case ActionKind::Forward:
        activations_.emplace(key, Where::Here);
        return;
      case ActionKind::Evict:
        if (schedule_.hosts.empty()) return bad(a, at, "no rank is named as host");
        if (!held || entry->second == Where::Away) return bad(a, at, "its activation is not here");
        entry->second = Where::Away;
        return;
      case ActionKind::Load:
        if (!held || entry->second == Where::Here) return bad(a, at, "it was not evicted before");
        entry->second = Where::Here;
        return;
      case ActionKind::Backward:
      case ActionKind::InputGrad:
      case ActionKind::WeightGrad:
        if (held && entry->second == Where::Away) bad(a, at, "its activation is evicted");
        if (held && a.kind != ActionKind::InputGrad) activations_.erase(entry);
        return;
      default:
        return;
    }
  }

  void bad(const Action& a, std::size_t at, std::string_view why) {
    found_.add(Rule::Eviction, rank_, at, [&] {
      return fmt::format("rank {}, action {}: {} cannot run: {}.", rank_, at,
                         to_text(a, schedule_.slices > 1), why);
    });
  }

  const Schedule& schedule_;
  std::size_t rank_;
  Violations& found_;
  std::map<Key, Where> activations_;
};

}  // namespace

void check_evictions(const Schedule& schedule, Violations& found) {
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    const auto& list = schedule.ranks[rank];
    const bool evicts = std::any_of(list.begin(), list.end(), [](const Action& a) {
      return a.kind == ActionKind::Evict || a.kind == ActionKind::Load;
    });
    if (evicts) EvictionCheck(schedule, rank, found).run();
  }
}

namespace {

// The newest version on each (rank, stage), and what each micro-batch in flight reads, in the order
// of one rank's list. Version n is what n updates of the stage made.
class VersionCheck {
 public:
  VersionCheck(const Schedule& schedule, std::size_t rank, Violations& found)
      : schedule_(schedule), rank_(rank), found_(found) {}

  void run() {
    const auto& list = schedule_.ranks[rank_];
    for (std::size_t at = 0; at < list.size(); ++at) step(list[at], at);
  }

 private:
  // The version that the rule lets micro-batch k read on this stage.
  [[nodiscard]] int version_for(StageId stage, MicroBatchId k) {
    const WeightPolicy& weights = schedule_.weights;
    const int per = std::max(1, weights.micro_batches_per_update);
    const int stages = schedule_.stage_count();
    switch (weights.rule) {
      case WeightRule::Synchronous:
        return 0;
      case WeightRule::Stash:
        return newest_[stage];
      case WeightRule::VerticalSync:
        return std::max(0, k.value / per - (stages - 1));
      case WeightRule::DoubleBuffer:
        return std::max(0, k.value / per - 1);
    }
    return 0;
  }

  void step(const Action& a, std::size_t at) {
    auto& reads = in_flight_[a.stage];
    if (a.kind == ActionKind::Update) {
      ++newest_[a.stage];
    } else if (a.kind == ActionKind::Forward) {
      const int version = version_for(a.stage, a.micro_batch);
      if (version > newest_[a.stage])
        found_.add(Rule::WeightVersion, rank_, at, [&] {
          return fmt::format(
              "rank {}, action {}: {} reads weight version {}, but only {} exists by "
              "then. Put the update before it.",
              rank_, at, to_text(a, schedule_.slices > 1), version, newest_[a.stage]);
        });
      if (a.slice == 0) reads[a.micro_batch] = version;
    } else if ((a.kind == ActionKind::Backward || a.kind == ActionKind::WeightGrad) &&
               a.slice == 0) {
      reads.erase(a.micro_batch);
    }
    if (a.kind == ActionKind::Update || a.kind == ActionKind::Forward) check_held(a, at);
  }

  void check_held(const Action& a, std::size_t at) {
    int oldest = newest_[a.stage];
    for (const auto& [k, version] : in_flight_[a.stage]) oldest = std::min(oldest, version);
    const auto& versions = schedule_.weights.versions;
    const int allowed = versions.empty() ? 1 : versions[a.stage.index()];
    const int held = newest_[a.stage] - oldest + 1;
    if (held <= allowed) return;
    found_.add(Rule::WeightVersion, rank_, at, [&] {
      return fmt::format(
          "rank {}, action {}: after {}, stage {} needs weight versions {} to {}, which "
          "are {}, but it keeps {}. Raise `versions`, or update later.",
          rank_, at, to_text(a, schedule_.slices > 1), a.stage.value, oldest, newest_[a.stage],
          held, allowed);
    });
  }

  const Schedule& schedule_;
  std::size_t rank_;
  Violations& found_;
  std::map<StageId, int> newest_;
  std::map<StageId, std::map<MicroBatchId, int>> in_flight_;
};

}  // namespace

void check_weight_versions(const Schedule& schedule, Violations& found) {
  // One version and one update at the end need no proof, unless an update comes earlier.
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    const auto& list = schedule.ranks[rank];
    const bool updates = std::any_of(list.begin(), list.end(),
                                     [](const Action& a) { return a.kind == ActionKind::Update; });
    const bool known = std::all_of(list.begin(), list.end(), [&](const Action& a) {
      return a.stage.valid() && a.stage.value < schedule.stage_count();
    });
    if (updates && known) VersionCheck(schedule, rank, found).run();
  }
}

}  // namespace headrace::internal
