// SPDX-License-Identifier: Apache-2.0
#include "headrace/timeline/json.h"

#include <nlohmann/json.hpp>

namespace headrace {
namespace {

using Json = nlohmann::ordered_json;

std::string name_of(const Action& action, bool slices) {
  return to_text(action, slices) + (action.overlaps_next ? "+" : "");
}

bool has_slices(const Timeline& timeline) {
  for (const RankTimeline& rank : timeline.ranks)
    for (const TimedAction& timed : rank.actions)
      if (timed.action.slice > 0) return true;
  return false;
}

}  // namespace

std::string to_json(const Timeline& timeline) {
  const bool slices = has_slices(timeline);
  Json ranks = Json::array();
  for (const RankTimeline& rank : timeline.ranks) {
    Json actions = Json::array();
    for (const TimedAction& timed : rank.actions)
      actions.push_back({name_of(timed.action, slices), timed.start.count(), timed.end.count()});
    Json memory = Json::array();
    for (const MemoryPoint& point : rank.memory)
      memory.push_back({point.at.count(), point.held.value});
    ranks.push_back({{"actions", actions}, {"memory", memory}, {"peak_live", rank.peak_live}});
  }
  Json messages = Json::array();
  for (const TimedMessage& m : timeline.messages)
    messages.push_back({name_of(m.send, slices), m.from.value, m.to.value, m.sent.count(),
                        m.arrived.count(), m.size.value});
  const Json whole{
      {"headrace_timeline", 1}, {"name", timeline.name}, {"ranks", ranks}, {"messages", messages}};
  return whole.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace headrace
