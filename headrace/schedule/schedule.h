// SPDX-License-Identifier: Apache-2.0
//
// The schedule: for each rank, its actions in order, and where each stage lives. Everything that
// draws, verifies, simulates or runs a schedule reads this one value.
#pragma once

#include "headrace/base/ids.h"
#include "headrace/schedule/action.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace headrace {

// Entry s is the rank on which stage s lives.
using Placement = std::vector<RankId>;

// Which weights a micro-batch reads, and when they change.
enum class WeightRule : std::uint8_t {
  Synchronous,   // one version; one update after the last micro-batch
  Stash,         // PipeDream: F takes the newest version, B uses the one its F took
  VerticalSync,  // PipeDream: every stage uses the version that stage 0 had on entry
  DoubleBuffer,  // PipeDream-2BW: a new version every `micro_batches_per_update`
};

struct WeightPolicy {
  WeightRule rule = WeightRule::Synchronous;
  // Micro-batches that one update accumulates; 0 means all of the step.
  int micro_batches_per_update = 0;
  // Versions that stage s holds at once, the newest included; empty means one everywhere.
  std::vector<int> versions;

  bool operator==(const WeightPolicy&) const = default;
};

struct Schedule {
  std::string name;
  int micro_batches = 0;
  int slices = 1;  // sequence slices per micro-batch

  // copies[c][s]: where copy c of stage s lives. One copy, but for bidirectional schedules.
  // A rank never holds two copies of one stage.
  std::vector<Placement> copies;
  // flow[k]: the copy that micro-batch k runs through; empty means copy 0 for all.
  std::vector<int> flow;
  // hosts[r]: the rank that keeps what rank r evicts (BPipe); empty where nothing is evicted.
  std::vector<RankId> hosts;
  WeightPolicy weights;

  // ranks[r]: the actions of rank r, in order.
  std::vector<std::vector<Action>> ranks;

  bool operator==(const Schedule&) const = default;

  [[nodiscard]] int rank_count() const { return static_cast<int>(ranks.size()); }
  [[nodiscard]] int stage_count() const {
    return copies.empty() ? 0 : static_cast<int>(copies.front().size());
  }
  [[nodiscard]] StageId last_stage() const { return StageId(stage_count() - 1); }
  [[nodiscard]] int copy_of(MicroBatchId k) const { return flow.empty() ? 0 : flow[k.index()]; }
  // Where `stage` runs for micro-batch `k`; for k not valid(), its place in copy 0.
  [[nodiscard]] RankId rank_of(StageId stage, MicroBatchId k) const {
    return copies[static_cast<std::size_t>(k.valid() ? copy_of(k) : 0)][stage.index()];
  }
  // True when the lists hold sends and receives; a schedule without transfers is never lowered.
  [[nodiscard]] bool is_lowered() const;
  [[nodiscard]] std::size_t action_count() const;
};

// Stage s on rank s (straight), s mod p (looped), or forth and back (a V for v = 2, a wave beyond).
[[nodiscard]] Placement straight_placement(int ranks);
[[nodiscard]] Placement looped_placement(int ranks, int stages_per_rank);
[[nodiscard]] Placement wave_placement(int ranks, int stages_per_rank);

// The schedule with its compute actions (and evict, load, recompute, reduce, update) only: what
// lower() started from.
[[nodiscard]] Schedule without_transfers(const Schedule& schedule);

}  // namespace headrace
