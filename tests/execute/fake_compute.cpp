// SPDX-License-Identifier: Apache-2.0
#include "tests/execute/fake_compute.h"

#include "headrace/execute/executor.h"
#include "headrace/execute/rank_threads.h"
#include "headrace/transport/in_process.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>

namespace headrace::testing {
namespace {

// The finalizer of SplitMix64, over `a` and `b`.
Number mix(Number a, Number b) {
  Number z = a * 0x9e3779b97f4a7c15u + b + 0x632be59bd9b4e019u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

Buffer to_buffer(Number value) {
  auto owner = std::make_shared<Number>(value);
  Buffer buffer;
  buffer.data = reinterpret_cast<std::byte*>(owner.get());
  buffer.size = sizeof(Number);
  buffer.shape = {1};
  buffer.owner = std::move(owner);
  return buffer;
}

// `width` values that depend on `value` and on their place.
Values spread(Number value, std::size_t width) {
  Values values;
  for (std::size_t i = 0; i < width; ++i) values.push_back(to_buffer(mix(value, i)));
  return values;
}

Number gather(const Values& values) {
  Number sum = values.size();
  for (const Buffer& buffer : values) {
    Number value = 0;
    if (buffer.defined) std::memcpy(&value, buffer.data, sizeof value);
    sum = mix(sum, value);
  }
  return sum;
}

Cell cell_of(const Action& action) {
  return {action.stage.value, action.micro_batch.value, action.slice};
}

template <class Map>
typename Map::mapped_type take(Map& map, const Cell& cell, const char* what) {
  auto node = map.extract(cell);
  if (node.empty()) throw std::logic_error(std::string("the fake holds no ") + what);
  return node.mapped();
}

}  // namespace

std::size_t boundary_width(int stage) {
  return static_cast<std::size_t>((stage + 1) % 4);
}

void FakeCompute::begin_step(std::int64_t step, bool forward_only) {
  step_ = step;
  forward_only_ = forward_only;
}

Values FakeCompute::forward(const Action& action, Values input) {
  before(action);
  const auto [stage, k, slice] = cell_of(action);
  const std::size_t expected = stage == 0 ? 0 : boundary_width(stage - 1);
  if (input.size() != expected) throw std::logic_error("wrong number of inputs");
  const Number cut = mix(static_cast<Number>(k), static_cast<Number>(slice));
  const Number data = mix(static_cast<Number>(step_), cut);
  // A boundary without values carries nothing on, so each stage also hashes what it reads itself.
  Number value = mix(mix(gather(input), data), static_cast<Number>(stage));
  if (slice > 0) value = mix(value, take(keys_, {stage, k, slice - 1}, "earlier keys"));
  if (slice + 1 < slices_) keys_[{stage, k, slice}] = mix(value, 17);
  if (!forward_only_ && !kept_.emplace(cell_of(action), Kept{value, input.size()}).second)
    throw std::logic_error("forward ran twice");
  if (stage + 1 < stages_) return spread(value, boundary_width(stage));
  result_.losses[{step_, k, slice}] = value;
  return {};
}

Values FakeCompute::backward(const Action& action, Values output_grad) {
  before(action);
  const auto [stage, k, slice] = cell_of(action);
  const std::size_t expected = stage + 1 < stages_ ? boundary_width(stage) : 0;
  if (output_grad.size() != expected) throw std::logic_error("wrong number of gradients");
  const Kept kept = take(kept_, cell_of(action), "input for this backward");
  Number grad = mix(gather(output_grad), kept.input);
  if (slice + 1 < slices_)
    grad = mix(grad, take(key_grads_, {stage, k, slice + 1}, "gradient of keys"));
  if (slice > 0) key_grads_[cell_of(action)] = mix(grad, 19);
  const Number weight = mix(grad, kept.input);
  if (action.kind == ActionKind::Backward)
    result_.weights[stage] += weight;
  else
    deferred_[cell_of(action)] = weight;
  if (stage == 0 || has_no_gradient(action)) return {};
  return spread(grad, kept.width);
}

void FakeCompute::weight_grad(const Action& action) {
  before(action);
  result_.weights[action.stage.value] += take(deferred_, cell_of(action), "deferred work");
}

std::int64_t FakeCompute::bytes_held() const {
  return bytes_per_kept * static_cast<std::int64_t>(kept());
}

FakeResult sequential_result(const Schedule& schedule, std::int64_t steps) {
  const int stages = schedule.stage_count();
  bool forward_only = true;
  for (const auto& list : schedule.ranks)
    for (const Action& a : list)
      if (is_compute(a.kind) && a.kind != ActionKind::Forward) forward_only = false;
  FakeCompute compute(stages, schedule.slices);
  for (std::int64_t step = 0; step < steps; ++step) {
    compute.begin_step(step, forward_only);
    for (int k = 0; k < schedule.micro_batches; ++k) {
      const auto action = [&](ActionKind kind, int stage, int slice) {
        return Action{kind, false, static_cast<std::int16_t>(slice), StageId(stage),
                      MicroBatchId(k)};
      };
      for (int j = 0; j < schedule.slices; ++j) {
        Values values;
        for (int s = 0; s < stages; ++s)
          values = compute.forward(action(ActionKind::Forward, s, j), std::move(values));
      }
      for (int j = schedule.slices - 1; !forward_only && j >= 0; --j) {
        Values grads;
        for (int s = stages - 1; s >= 0; --s)
          grads = compute.backward(action(ActionKind::Backward, s, j), std::move(grads));
      }
    }
  }
  return compute.result();
}

FakeRun run_fake(const Schedule& schedule, const FakeOptions& options) {
  const int ranks = schedule.rank_count();
  const auto endpoints = in_process_endpoints(ranks);
  std::vector<FakeCompute> computes(static_cast<std::size_t>(ranks),
                                    FakeCompute(schedule.stage_count(), schedule.slices));
  FakeRun run;
  run.timelines.resize(static_cast<std::size_t>(ranks));
  const auto started = std::chrono::steady_clock::now();
  run_ranks(ranks, [&](RankId rank) {
    FakeCompute& compute = computes[rank.index()];
    options.prepare(rank, compute);
    const auto& list = schedule.ranks[rank.index()];
    const bool forward_only = std::none_of(list.begin(), list.end(), [](const Action& a) {
      return is_compute(a.kind) && a.kind != ActionKind::Forward;
    });
    for (std::int64_t step = 0; step < options.steps; ++step) {
      compute.begin_step(step, forward_only);
      run.timelines[rank.index()].push_back(
          run_step(schedule, compute, *endpoints[rank.index()], {step, started, options.timeout}));
    }
  });
  for (const FakeCompute& compute : computes) {
    run.result.losses.insert(compute.result().losses.begin(), compute.result().losses.end());
    for (const auto& [stage, weight] : compute.result().weights)
      run.result.weights[stage] += weight;
    run.kept += compute.kept();
  }
  return run;
}

}  // namespace headrace::testing
