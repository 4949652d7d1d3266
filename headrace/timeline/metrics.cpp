// SPDX-License-Identifier: Apache-2.0
#include "headrace/timeline/metrics.h"

#include <algorithm>
#include <map>

namespace headrace {
namespace {

// A pair is two entries with equal times; it keeps its rank busy once. Holding a rank for a
// blocking transfer is not work.
Time busy_time(const RankTimeline& rank) {
  Time busy{};
  for (std::size_t i = 0; i < rank.actions.size(); ++i) {
    const ActionKind kind = rank.actions[i].action.kind;
    if (is_send(kind) || is_receive(kind)) continue;
    if (i > 0 && rank.actions[i - 1].action.overlaps_next) continue;
    busy += rank.actions[i].end - rank.actions[i].start;
  }
  return busy;
}

Bytes peak_memory(const RankTimeline& rank) {
  Bytes peak;
  for (const MemoryPoint& point : rank.memory) peak = std::max(peak, point.held);
  return peak;
}

double idle_share(Time busy, Time whole) {
  if (whole.count() == 0) return 0;
  return 1.0 - static_cast<double>(busy.count()) / static_cast<double>(whole.count());
}

}  // namespace

Metrics measure(const Timeline& timeline) {
  Metrics metrics;
  Time first = Time::max();
  Time last{};
  Time all_busy{};
  Time longest_busy{};
  for (const RankTimeline& rank : timeline.ranks) {
    metrics.busy.push_back(busy_time(rank));
    metrics.peak_live.push_back(rank.peak_live);
    metrics.peak_memory.push_back(peak_memory(rank));
    all_busy += metrics.busy.back();
    if (rank.actions.empty()) continue;
    const Time start = rank.actions.front().start;
    const Time end = rank.actions.back().end;
    first = std::min(first, start);
    last = std::max(last, end);
    // Of two ranks with the longest span, the busier one gives the smaller bubble.
    if (end - start > metrics.span ||
        (end - start == metrics.span && metrics.busy.back() > longest_busy)) {
      metrics.span = end - start;
      longest_busy = metrics.busy.back();
    }
  }
  if (first != Time::max()) metrics.makespan = last - first;
  const auto ranks = static_cast<std::int64_t>(timeline.ranks.size());
  metrics.bubble = idle_share(all_busy, metrics.makespan * ranks);
  metrics.bubble_span = idle_share(longest_busy, metrics.span);
  for (const Time busy : metrics.busy)
    metrics.rank_bubble.push_back(idle_share(busy, metrics.makespan));
  metrics.messages = timeline.messages.size();
  return metrics;
}

namespace {

// The pair flag and the place in the list do not make an action another one.
Action key_of(Action action) {
  action.overlaps_next = false;
  return action;
}

}  // namespace

Comparison compare(const Timeline& first, const Timeline& second) {
  Comparison result;
  result.first = measure(first);
  result.second = measure(second);
  for (std::size_t r = 0; r < std::max(first.ranks.size(), second.ranks.size()); ++r) {
    std::map<Action, TimedAction> others;
    if (r < second.ranks.size())
      for (const TimedAction& timed : second.ranks[r].actions)
        others.emplace(key_of(timed.action), timed);
    if (r < first.ranks.size())
      for (const TimedAction& timed : first.ranks[r].actions) {
        const auto other = others.find(key_of(timed.action));
        if (other == others.end()) {
          result.only_in_first.push_back(timed);
          continue;
        }
        const TimedAction& late = other->second;
        result.actions.push_back({RankId(static_cast<std::int64_t>(r)), key_of(timed.action),
                                  late.start - timed.start,
                                  (late.end - late.start) - (timed.end - timed.start)});
        others.erase(other);
      }
    if (r >= second.ranks.size()) continue;
    for (const TimedAction& timed : second.ranks[r].actions)
      if (others.count(key_of(timed.action)) > 0) result.only_in_second.push_back(timed);
  }
  return result;
}

}  // namespace headrace
