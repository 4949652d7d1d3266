// SPDX-License-Identifier: Apache-2.0
#include "headrace/schedule/csv.h"

#include "headrace/base/error.h"
#include "headrace/base/text.h"
#include "headrace/schedule/internal/token.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace headrace {
namespace {

using internal::fail_at;
using internal::Place;

// Where the first empty cell stands: harmless in a compute-only table, wrong in a lowered one.
struct EmptyCell {
  std::optional<Place> first;
};

std::vector<Action> parse_row(std::string_view line, Place place, EmptyCell& empty) {
  std::vector<Action> list;
  for (const std::string_view cell : split(line, ',')) {
    const std::string_view token = trim(cell);
    if (!token.empty())
      internal::parse_actions(token, place, internal::PyTorchTokens::Yes, list);
    else if (!empty.first)
      empty.first = place;
    place.column += cell.size() + 1;
  }
  return list;
}

// Stage -> rank, from where the compute actions are.
Placement infer_placement(const Schedule& schedule, std::string_view source) {
  int stages = 0;
  for (const auto& list : schedule.ranks)
    for (const Action& a : list) stages = std::max(stages, a.stage.value + 1);
  if (static_cast<std::size_t>(stages) > schedule.action_count())
    throw ParseError(
        fmt::format("{}: names stage {}, but holds only {} actions; number the stages "
                    "from 0 without gaps",
                    source, stages - 1, schedule.action_count()));
  Placement placement(static_cast<std::size_t>(stages));
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    for (const Action& a : schedule.ranks[rank]) {
      if (!is_compute(a.kind)) continue;
      RankId& place = placement[a.stage.index()];
      if (place.valid() && place.index() != rank)
        throw ParseError(
            fmt::format("{}:{}: {} computes stage {}, which row {} computes as well; a "
                        "stage lives on one rank",
                        source, rank + 1, to_text(a), a.stage.value, place.value + 1));
      place = RankId(static_cast<std::int64_t>(rank));
    }
  for (int stage = 0; stage < stages; ++stage)
    if (!placement[static_cast<std::size_t>(stage)].valid())
      throw ParseError(
          fmt::format("{}: stage {} is computed on no rank; number the stages from 0 "
                      "without gaps",
                      source, stage));
  return placement;
}

}  // namespace

std::string to_csv(const Schedule& schedule) {
  const auto refuse = [](std::string_view what) {
    throw UsageError(fmt::format("PyTorch's CSV cannot hold {}; write our own text form", what));
  };
  if (schedule.slices != 1) refuse("sequence slices");
  if (schedule.copies.size() > 1) refuse("several copies of a stage");
  if (schedule.weights != WeightPolicy{}) refuse("asynchronous weight updates");
  std::string text;
  for (const auto& list : schedule.ranks) {
    for (const Action& a : list)
      if (a.kind == ActionKind::Evict || a.kind == ActionKind::Load ||
          a.kind == ActionKind::Recompute || a.kind == ActionKind::Update)
        refuse(fmt::format("the action {}", to_text(a)));
    text += internal::write_actions(list, false, ",") + "\n";
  }
  return text;
}

Schedule parse_csv(std::string_view text, std::string_view source) {
  auto lines = internal::lines_of(text, source);
  while (!lines.empty() && trim(lines.back()).empty()) lines.pop_back();
  if (lines.empty()) fail_at({source, 1, 1}, "is empty; expected a schedule, one line per rank");
  Schedule schedule;
  schedule.name = "csv";
  EmptyCell empty;
  for (std::size_t row = 0; row < lines.size(); ++row)
    schedule.ranks.push_back(parse_row(lines[row], {source, row + 1, 1}, empty));
  if (empty.first && schedule.is_lowered())
    fail_at(*empty.first,
            "an empty cell in a table with sends and receives; such a table is run as "
            "it stands, so remove the cell");
  for (const auto& list : schedule.ranks)
    for (const Action& a : list)
      schedule.micro_batches = std::max(schedule.micro_batches, a.micro_batch.value + 1);
  if (schedule.action_count() == 0) fail_at({source, 1, 1}, "holds no action");
  schedule.copies = {infer_placement(schedule, source)};
  return schedule;
}

}  // namespace headrace
