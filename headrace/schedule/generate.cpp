// SPDX-License-Identifier: Apache-2.0
#include "headrace/schedule/generate.h"

#include "headrace/base/error.h"
#include "headrace/base/text.h"
#include "headrace/schedule/basic.h"
#include "headrace/schedule/internal/building.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>

namespace headrace {
namespace {

// The options beside ranks and micro-batches, as bits: which a method takes.
enum Option : unsigned {
  kNone = 0,
  kStagesPerRank = 1u << 0,
  kGroup = 1u << 1,
  kWaves = 1u << 2,
  kPairs = 1u << 3,
  kSlices = 1u << 4,
  kInFlight = 1u << 5,
  kReverse = 1u << 6,
};

struct Entry {
  Method method;
  unsigned options;
  std::function<Schedule(const ScheduleRequest&)> make;
};

const std::vector<Entry>& entries() {
  static const std::vector<Entry> table{
      {{"naive", "one micro-batch after the other", "(p-1)/p", "1", "1", "2(p-1)", "any p, m >= 1",
        "model parallelism without a pipeline"},
       kNone,
       [](const ScheduleRequest& r) { return naive(r.ranks, r.micro_batches); }},
      {{"gpipe", "all forwards, then all backwards", "(p-1)/(m+p-1)", "m", "1", "2(p-1)",
        "any p, m >= 1", "Huang et al., GPipe, NeurIPS 2019"},
       kReverse,
       [](const ScheduleRequest& r) { return gpipe(r.ranks, r.micro_batches, r.reverse); }},
      {{"1f1b", "one forward, one backward", "(p-1)/(m+p-1)", "min(m, p)", "1", "2(p-1)",
        "any p, m >= 1", "Narayanan et al., PipeDream-Flush, 2021; Fan et al., DAPPLE, 2021"},
       kInFlight,
       [](const ScheduleRequest& r) { return one_f_one_b(r.ranks, r.micro_batches, r.in_flight); }},
  };
  return table;
}

struct Given {
  Option option;
  std::string_view name;
  int value;
};

// An option that the method does not take is refused, never ignored.
void refuse_unknown_options(const ScheduleRequest& request, const Entry& entry) {
  const Given given[] = {{kStagesPerRank, "stages-per-rank", request.stages_per_rank},
                         {kGroup, "group", request.group},
                         {kWaves, "waves", request.waves},
                         {kPairs, "pairs", request.pairs},
                         {kSlices, "slices", request.slices},
                         {kInFlight, "in-flight", request.in_flight},
                         {kReverse, "reverse", request.reverse ? 1 : 0}};
  for (const Given& option : given) {
    internal::require_at_least(request.method, option.name, option.value, 0);
    if (option.value == 0 || (entry.options & option.option) != 0) continue;
    std::vector<std::string> takers;
    for (const Entry& other : entries())
      if ((other.options & option.option) != 0) takers.push_back(other.method.name);
    throw UsageError(
        takers.empty()
            ? fmt::format("{} takes no {}, and no other method does", request.method, option.name)
            : fmt::format("{} takes no {}; it is an option of {}", request.method, option.name,
                          fmt::join(takers, ", ")));
  }
}

}  // namespace

const std::vector<Method>& methods() {
  static const std::vector<Method> list = [] {
    std::vector<Method> all;
    for (const Entry& entry : entries()) all.push_back(entry.method);
    return all;
  }();
  return list;
}

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const Method& method : methods()) names.push_back(method.name);
  return names;
}

Schedule generate(const ScheduleRequest& request) {
  for (const Entry& entry : entries()) {
    if (entry.method.name != request.method) continue;
    internal::require_at_least(request.method, "ranks", request.ranks, 1);
    internal::require_at_least(request.method, "micro-batches", request.micro_batches, 1);
    refuse_unknown_options(request, entry);
    return entry.make(request);
  }
  throw UsageError(unknown_name("schedule", request.method, method_names()));
}

}  // namespace headrace
