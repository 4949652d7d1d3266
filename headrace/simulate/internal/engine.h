// SPDX-License-Identifier: Apache-2.0
//
// Replays the lists. Every rank runs on until it needs a result that is not made yet, and goes on
// when another rank makes it; the times do not depend on the order in which ranks are looked at.
#pragma once

#include "headrace/cost/machine.h"
#include "headrace/cost/stage_costs.h"
#include "headrace/schedule/dependency.h"
#include "headrace/schedule/schedule.h"
#include "headrace/simulate/internal/memory_curve.h"
#include "headrace/simulate/simulate.h"
#include "headrace/timeline/timeline.h"

#include <cstdint>
#include <map>
#include <vector>

namespace headrace::internal {

class Engine {
 public:
  Engine(const Schedule& schedule, const StageCosts& costs, const Machine& machine, Detail detail);
  Timeline run();

 private:
  // Runs `rank` until it has to wait.
  void advance(std::size_t rank);
  // The first action at which `rank` stands, or a pair; false if it has to wait.
  bool run_compute(std::size_t rank);
  // What needs no other action: recompute, reduce, update, evict, load, and the ends of messages.
  bool run_other(std::size_t rank, const Action& action);
  void run_eviction(std::size_t rank, const Action& action);
  bool meet(std::size_t rank, const Action& action);

  // Raises `start` to when all that `action` needs is there; false if something is not made yet.
  bool ready(std::size_t rank, const Action& action, std::int64_t& start);
  void finish(std::size_t rank, const Action& action, std::int64_t end);
  void hand_on(std::size_t rank, const Action& producer, ResultKind kind, std::int64_t at);
  void arrive(std::size_t result, std::int64_t at);
  void record(std::size_t rank, const Action& action, std::int64_t start, std::int64_t end);
  void note_message(const Action& send, RankId from, RankId to, std::int64_t sent,
                    std::int64_t arrived);

  [[nodiscard]] std::int64_t duration(std::size_t rank, const Action& action) const;
  [[nodiscard]] std::int64_t pair_duration(std::size_t rank, const Action& first,
                                           const Action& second) const;
  [[nodiscard]] std::int64_t scaled(std::size_t rank, std::int64_t cost) const;
  void fail_if_stuck() const;
  void order_messages();

  const Schedule& schedule_;
  const StageCosts& costs_;
  const Machine& machine_;
  bool full_;
  bool with_bytes_;  // the memory curve is asked for and says something
  bool lowered_;
  bool evicts_ = false;
  ResultTable table_;
  std::vector<std::int64_t> made_;     // when each result is there on its own rank
  std::vector<std::int64_t> arrived_;  // when it is there on the rank of the neighbouring stage
  std::vector<std::int32_t> waiter_;   // the rank that stands still until the result is made
  std::vector<std::size_t> position_;
  std::vector<std::int64_t> free_;  // when each rank has done all before its position
  std::vector<std::size_t> ready_ranks_;
  std::map<std::pair<std::size_t, std::size_t>, std::int64_t> link_free_;
  std::map<Action, std::int64_t> loaded_;  // by the LOAD action: when the activation is back
  MemoryCurve memory_;
  Timeline timeline_;
};

}  // namespace headrace::internal
