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
  std::string_view name;
  Option option;
  int value;
};

// An option that the method does not take is refused, never ignored.
void refuse_unknown_options(const ScheduleRequest& request, const Entry& entry) {
  const Given given[] = {{"stages-per-rank", internal::kStagesPerRank, request.stages_per_rank},
                         {"group", internal::kGroup, request.group},
                         {"waves", internal::kWaves, request.waves},
                         {"pairs", internal::kPairs, request.pairs},
                         {"slices", internal::kSlices, request.slices},
                         {"in-flight", internal::kInFlight, request.in_flight},
                         {"reverse", internal::kReverse, request.reverse ? 1 : 0},
                         {"vertical-sync", internal::kVerticalSync, request.vertical_sync ? 1 : 0},
                         {"costs", internal::kCosts, request.costs == ScheduleCosts{} ? 0 : 1}};
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
