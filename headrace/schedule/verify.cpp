// SPDX-License-Identifier: Apache-2.0
#include "headrace/schedule/verify.h"

#include "headrace/base/error.h"
#include "headrace/schedule/internal/checks.h"
#include "headrace/schedule/internal/walk.h"

#include <algorithm>
#include <array>

namespace headrace {

using internal::ActionIndex;
using internal::SendRule;
using internal::Violations;

std::string_view rule_name(Rule rule) {
  constexpr std::array<std::string_view, 12> kNames{
      "shape",    "unknown-action", "wrong-rank",     "missing", "duplicate",      "order",
      "deadlock", "message",        "blocking-sends", "pair",    "weight-version", "eviction"};
  return kNames[static_cast<std::size_t>(rule)];
}

namespace {

// A buffered deadlock is worse than a blocking one and implies it, so at most one is reported.
void check_progress(const Schedule& schedule, const ActionIndex& index, Violations& found) {
  const auto report = [&](Rule rule, SendRule sends) {
    const auto end = internal::walk(schedule, index, sends);
    if (end.finished) return true;
    found.add_whole(rule, -1, -1, [&] { return describe_cycle(schedule, index, end, sends); });
    return false;
  };
  if (report(Rule::Deadlock, SendRule::Buffered) && schedule.is_lowered())
    report(Rule::BlockingSends, SendRule::Blocking);
}

bool has_rule(const std::vector<Violation>& found, std::initializer_list<Rule> rules) {
  return std::any_of(found.begin(), found.end(), [&](const Violation& v) {
    return std::find(rules.begin(), rules.end(), v.rule) != rules.end();
  });
}

}  // namespace

std::vector<Violation> verify(const Schedule& schedule) {
  Violations found;
  internal::check_shape(schedule, found);
  if (!found.empty()) return found.take();

  ActionIndex index(schedule);
  internal::check_places(schedule, index, found);
  internal::check_complete(schedule, index, found);
  internal::check_order(schedule, index, found);
  if (schedule.is_lowered()) internal::check_messages(schedule, index, found);
  internal::check_evictions(schedule, found);
  internal::check_weight_versions(schedule, found);

  // The walk trusts places and the order within a rank; where those are broken, what it would say
  // is only a consequence.
  auto violations = found.take();
  if (has_rule(violations, {Rule::UnknownAction, Rule::WrongRank, Rule::Duplicate, Rule::Order}))
    return violations;
  Violations stuck;
  check_progress(schedule, index, stuck);
  for (Violation& violation : stuck.take()) violations.push_back(std::move(violation));
  return violations;
}

void require_verified(const Schedule& schedule, std::string_view made_by) {
  const auto violations = verify(schedule);
  HEADRACE_CHECK(violations.empty(), "{} made a schedule that breaks the rule {}: {}", made_by,
                 rule_name(violations.front().rule), violations.front().message);
}

}  // namespace headrace
