// SPDX-License-Identifier: Apache-2.0
//
// What ranks agree on between the last backward of a step and its update:
//
//   tied gradients   use ── gradient ──► owner, which adds them: its own first, then in layer order
//   norm             all ── sums of squares ──► rank 0 ── norm ──► all       only with clipping
//   tied values      owner ── new value ──► use
//
// Everything else a rank does alone, so without ties and clipping no rank waits for another here.
#pragma once

#include "headrace/base/ids.h"
#include "headrace/runtime/stage_runner.h"
#include "headrace/transport/endpoint.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace headrace {

// Where a parameter of the network lives; the same list on every rank, in `order`.
struct DirectoryEntry {
  std::int64_t order = 0;
  std::string name;
  std::string tied_to;
  RankId rank;
};

class StepExchange {
 public:
  // Tells all ranks what this one holds, and learns what they hold. Throws UsageError when a tied
  // parameter has no owner.
  StepExchange(Endpoint& endpoint, const StageRunner& runner, std::chrono::nanoseconds timeout);

  // Adds the gradients of further uses to their owners'. Afterwards only owners have gradients.
  void add_tied_gradients(std::int64_t step);

  // Square root of the sum of squares of all gradients, over all ranks: partial sums per parameter
  // in double, added in the order of the parameters, so equal whatever the cut.
  [[nodiscard]] double global_norm(std::int64_t step);

  // Gives the owners' new values to the further uses on other ranks.
  void share_tied_values(std::int64_t step);

  // In an evaluation nothing comes back to the first stage, so it must be told how far the last one
  // is, or all boundary tensors might wait there. `pass` numbers the evaluation.
  void tell_loss_made(RankId first_stage, std::int64_t pass, int micro_batch);
  void wait_for_loss(RankId last_stage, std::int64_t pass, int micro_batch);

  // Parameters that this rank updates: all of its own but further uses.
  [[nodiscard]] std::vector<Parameter*> owned() const;

 private:
  // One further use of a parameter.
  struct Tie {
    RankId owner_rank;
    RankId use_rank;
    Parameter* owner = nullptr;  // null where it lives elsewhere
    Parameter* use = nullptr;
  };

  void share_directory();
  void find_ties();
  [[nodiscard]] Deadline deadline() const;
  [[nodiscard]] Parameter* own_parameter(const std::string& name) const;

  Endpoint& endpoint_;
  const StageRunner& runner_;
  std::chrono::nanoseconds timeout_;
  std::vector<DirectoryEntry> directory_;
  std::vector<Tie> ties_;
};

}  // namespace headrace
