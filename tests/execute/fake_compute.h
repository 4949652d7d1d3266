// SPDX-License-Identifier: Apache-2.0
//
// A network of integers. Every value is a hash of all that it was made from, so a message that goes
// astray, comes twice or out of order changes the results; a sequential walk gives the right ones.
//
//   forward   x(s)  = mix(input, s, keys of the earlier slices)
//   backward  g(s)  = mix(gradient of the output, input kept by the forward, gradients of keys)
//   weight    w(s) += mix(g(s), input)        a sum, so that the order of micro-batches is free
#pragma once

#include "headrace/execute/stage_compute.h"
#include "headrace/schedule/schedule.h"
#include "headrace/timeline/timeline.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

namespace headrace::testing {

using Number = std::uint64_t;

// (stage, micro-batch, slice)
using Cell = std::tuple<int, int, int>;

// What the network gives; equal for every correct execution of the same steps.
struct FakeResult {
  // (step, micro-batch, slice) -> the value that leaves the last stage
  std::map<std::tuple<std::int64_t, int, int>, Number> losses;
  // stage -> sum over all micro-batches and steps
  std::map<int, Number> weights;

  bool operator==(const FakeResult&) const = default;
};

class FakeCompute : public StageCompute {
 public:
  FakeCompute(int stages, int slices) : stages_(stages), slices_(slices) {}

  void begin_step(std::int64_t step, bool forward_only);
  [[nodiscard]] const FakeResult& result() const { return result_; }
  [[nodiscard]] std::size_t kept() const { return kept_.size() + deferred_.size(); }

  // Called first in every action: sleeps, throws and counts go here.
  std::function<void(const Action&)> before = [](const Action&) {};
  // True makes the backward return nothing at all, as a stage does that has no gradient.
  std::function<bool(const Action&)> has_no_gradient = [](const Action&) { return false; };
  std::int64_t bytes_per_kept = 0;

  [[nodiscard]] Values forward(const Action& action, Values input) override;
  [[nodiscard]] Values backward(const Action& action, Values output_grad) override;
  void weight_grad(const Action& action) override;
  [[nodiscard]] std::int64_t bytes_held() const override;

 private:
  struct Kept {
    Number input = 0;
    std::size_t width = 0;
  };

  int stages_;
  int slices_;
  std::int64_t step_ = 0;
  bool forward_only_ = false;
  std::map<Cell, Kept> kept_;        // from F to B or I
  std::map<Cell, Number> deferred_;  // from I to W
  std::map<Cell, Number> keys_;      // of a slice, for the next one
  std::map<Cell, Number> key_grads_;
  FakeResult result_;
};

// Number of values that cross the boundary behind `stage`: 1, 2, 3, 0, 1, ...
[[nodiscard]] std::size_t boundary_width(int stage);

// The results of `steps` steps, computed one micro-batch after the other.
[[nodiscard]] FakeResult sequential_result(const Schedule& schedule, std::int64_t steps);

struct FakeRun {
  FakeResult result;
  std::vector<std::vector<RankTimeline>> timelines;  // [rank][step]
  std::size_t kept = 0;                              // what all ranks still hold
};

struct FakeOptions {
  std::int64_t steps = 1;
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);
  // Called for each rank before it starts.
  std::function<void(RankId, FakeCompute&)> prepare = [](RankId, FakeCompute&) {};
};

// Runs `steps` steps of `schedule`, one thread per rank, with no barrier between them.
[[nodiscard]] FakeRun run_fake(const Schedule& schedule, const FakeOptions& options = {});

}  // namespace headrace::testing
