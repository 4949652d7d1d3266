// SPDX-License-Identifier: Apache-2.0
#include "headrace/schedule/generate.h"

#include "headrace/base/error.h"
#include "headrace/base/text.h"
#include "headrace/schedule/internal/building.h"
#include "headrace/schedule/internal/method_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace {

using internal::entries;
using internal::Entry;
using internal::Option;

namespace {

struct Given {
  Option option;
  std::string_view name;
  int value;
};

// An option that the method does not take is refused, never ignored.
void refuse_unknown_options(const ScheduleRequest& request, const Entry& entry) {
  const Given given[] = {{internal::kStagesPerRank, "stages-per-rank", request.stages_per_rank},
                         {internal::kGroup, "group", request.group},
                         {internal::kWaves, "waves", request.waves},
                         {internal::kPairs, "pairs", request.pairs},
                         {internal::kSlices, "slices", request.slices},
                         {internal::kInFlight, "in-flight", request.in_flight},
                         {internal::kReverse, "reverse", request.reverse ? 1 : 0},
                         {internal::kVerticalSync, "vertical-sync", request.vertical_sync ? 1 : 0},
                         {internal::kCosts, "costs", request.costs == ScheduleCosts{} ? 0 : 1}};
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
