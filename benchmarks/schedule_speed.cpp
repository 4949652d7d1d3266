// SPDX-License-Identifier: Apache-2.0
//
// How long it takes to generate, lower, verify and simulate 1F1B, from ten thousand to ten million
// actions. Run: build/schedule_speed
#include "headrace/schedule/basic.h"
#include "headrace/schedule/lower.h"
#include "headrace/schedule/verify.h"
#include "headrace/simulate/simulate.h"

#include <benchmark/benchmark.h>

namespace headrace {
namespace {

void per_action(benchmark::State& state, std::size_t actions) {
  state.counters["actions"] = static_cast<double>(actions);
  state.counters["actions/s"] = benchmark::Counter(static_cast<double>(actions),
                                                   benchmark::Counter::kIsIterationInvariantRate);
}

// What `headrace schedule` does before it shows anything: 64 ranks x 512 micro-batches is the mark.
void generate_lower_verify(benchmark::State& state) {
  std::size_t actions = 0;
  for (auto _ : state) {
    const Schedule lowered =
        lower(one_f_one_b(static_cast<int>(state.range(0)), static_cast<int>(state.range(1))));
    benchmark::DoNotOptimize(verify(lowered));
    actions = lowered.action_count();
  }
  per_action(state, actions);
}
BENCHMARK(generate_lower_verify)->Args({64, 512})->Args({64, 4096})->Unit(benchmark::kMillisecond);

void simulate_actions(benchmark::State& state) {
  const Schedule schedule =
      one_f_one_b(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  const auto costs = uniform_costs(schedule.stage_count(), Time(10), Time(10), Time(10));
  const auto machine = uniform_machine(schedule.rank_count(), {Time(1), 0});
  for (auto _ : state)
    benchmark::DoNotOptimize(simulate(schedule, costs, machine, Detail::Actions));
  per_action(state, schedule.action_count());
}
BENCHMARK(simulate_actions)
    ->Args({16, 312})
    ->Args({64, 781})
    ->Args({64, 7812})
    ->Args({64, 78125})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace headrace

BENCHMARK_MAIN();
