// SPDX-License-Identifier: Apache-2.0
#include "headrace/schedule/dependency.h"
#include "headrace/schedule/internal/checks.h"

#include <fmt/format.h>

#include <array>
#include <optional>

namespace headrace::internal {
namespace {

bool whole_stage(ActionKind kind) {
  return kind == ActionKind::ReduceGrad || kind == ActionKind::Update;
}

// Why the action cannot exist in this schedule, if so.
std::optional<std::string> unknown(const Schedule& schedule, const Action& a) {
  if (!a.stage.valid() || a.stage.value >= schedule.stage_count())
    return fmt::format("stage {}, but stages are 0 to {}", a.stage.value,
                       schedule.stage_count() - 1);
  const bool may_lack = whole_stage(a.kind);
  if (!a.micro_batch.valid() && may_lack) return std::nullopt;
  if (!a.micro_batch.valid() || a.micro_batch.value >= schedule.micro_batches)
    return fmt::format("micro-batch {}, but micro-batches are 0 to {}", a.micro_batch.value,
                       schedule.micro_batches - 1);
  if (a.slice < 0 || a.slice >= schedule.slices)
    return fmt::format("slice {}, but slices are 0 to {}", a.slice, schedule.slices - 1);
  return std::nullopt;
}

bool lives_on(const Schedule& schedule, const Action& a, std::size_t rank) {
  if (a.micro_batch.valid()) return schedule.rank_of(a.stage, a.micro_batch).index() == rank;
  for (const Placement& placement : schedule.copies)
    if (placement[a.stage.index()].index() == rank) return true;
  return false;
}

}  // namespace

void check_places(const Schedule& schedule, ActionIndex& index, Violations& found) {
  const bool slices = schedule.slices > 1;
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    for (std::size_t at = 0; at < schedule.ranks[rank].size(); ++at) {
      const Action& a = schedule.ranks[rank][at];
      if (const auto why = unknown(schedule, a)) {
        found.add(Rule::UnknownAction, rank, at, [&] {
          return fmt::format("rank {}, action {}: {} names {}.", rank, at, to_text(a, slices),
                             *why);
        });
      } else if (!lives_on(schedule, a, rank)) {
        found.add(Rule::WrongRank, rank, at, [&] {
          return fmt::format(
              "rank {}, action {}: {} belongs on rank {}, where stage {} lives. Move it there.",
              rank, at, to_text(a, slices), schedule.rank_of(a.stage, a.micro_batch).value,
              a.stage.value);
        });
      } else if (ActionIndex::holds(a.kind)) {
        if (const auto first = index.at(a); first >= 0)
          found.add(Rule::Duplicate, rank, at, [&] {
            return fmt::format(
                "rank {}, action {}: {} stands here a second time; it is action {} "
                "already. Remove one.",
                rank, at, to_text(a, slices), first);
          });
        else
          index.set(a, static_cast<std::int32_t>(at));
      }
    }
  }
}

namespace {

struct Cell {
  StageId stage;
  MicroBatchId k;
  int slice;
};

void check_cell(const Schedule& schedule, const ActionIndex& index, const Cell& cell,
                bool forward_only, Violations& found) {
  const auto has = [&](ActionKind kind) {
    return index.at(kind, cell.stage, cell.k, cell.slice) >= 0;
  };
  const auto name = [&](ActionKind kind) {
    return to_text({kind, false, static_cast<std::int16_t>(cell.slice), cell.stage, cell.k},
                   schedule.slices > 1);
  };
  const int rank = schedule.rank_of(cell.stage, cell.k).value;
  const auto missing = [&](ActionKind kind, std::string_view reason) {
    found.add_whole(Rule::Missing, rank, -1, [&] {
      return fmt::format("rank {}: {} is missing{}. Add it.", rank, name(kind), reason);
    });
  };
  const bool b = has(ActionKind::Backward);
  const bool i = has(ActionKind::InputGrad);
  const bool w = has(ActionKind::WeightGrad);
  if (!has(ActionKind::Forward)) missing(ActionKind::Forward, "");
  if (forward_only) return;
  if (b && (i || w)) {
    const ActionKind other = i ? ActionKind::InputGrad : ActionKind::WeightGrad;
    found.add_whole(Rule::Duplicate, rank, index.at(other, cell.stage, cell.k, cell.slice), [&] {
      return fmt::format(
          "rank {}: {} stands beside {}, which it includes. Remove one, or write I "
          "and W instead of B.",
          rank, name(other), name(ActionKind::Backward));
    });
  } else if (!b && !i && !w) {
    missing(ActionKind::Backward, " (or I and W)");
  } else if (i != w && !b) {
    missing(i ? ActionKind::WeightGrad : ActionKind::InputGrad,
            i ? ", its I is there" : ", its W is there");
  }
}

}  // namespace

void check_complete(const Schedule& schedule, const ActionIndex& index, Violations& found) {
  bool forward_only = true;
  for (const auto& list : schedule.ranks)
    for (const Action& a : list)
      if (is_compute(a.kind) && a.kind != ActionKind::Forward) forward_only = false;
  for (int stage = 0; stage < schedule.stage_count(); ++stage)
    for (int k = 0; k < schedule.micro_batches; ++k)
      for (int slice = 0; slice < schedule.slices; ++slice)
        check_cell(schedule, index, {StageId(stage), MicroBatchId(k), slice}, forward_only, found);
}

namespace {

// The action that makes what `need` names, as far as it is in the schedule.
Action producer_of(const Need& need, const Action& reader, const ActionIndex& index) {
  Action producer{ActionKind::Forward, false, need.slice, need.stage, reader.micro_batch};
  if (need.kind == ResultKind::Output) return producer;
  producer.kind = ActionKind::Backward;
  if (reader.kind == ActionKind::WeightGrad || index.at(producer) < 0)
    producer.kind = ActionKind::InputGrad;
  return producer;
}

void check_needs(const Schedule& schedule, const ActionIndex& index, std::size_t rank,
                 std::size_t at, Violations& found) {
  const Action& a = schedule.ranks[rank][at];
  for (const Need& need : needs_of(a, schedule.stage_count(), schedule.slices)) {
    if (schedule.rank_of(need.stage, a.micro_batch).index() != rank) continue;
    const Action producer = producer_of(need, a, index);
    const std::int32_t position = index.at(producer);
    if (position < 0) continue;  // reported as missing
    // The halves of a pair start together, so one cannot feed the other.
    const bool in_pair =
        static_cast<std::size_t>(position) + 1 == at && schedule.ranks[rank][at - 1].overlaps_next;
    if (static_cast<std::size_t>(position) < at && !in_pair) continue;
    const bool slices = schedule.slices > 1;
    found.add(Rule::Order, rank, at, [&] {
      if (in_pair)
        return fmt::format(
            "rank {}, action {}: {} needs {}, the other half of its pair, but both "
            "start together. Separate them.",
            rank, at, to_text(a, slices), to_text(producer, slices));
      return fmt::format(
          "rank {}, action {}: {} needs {}, which comes later on this rank (action "
          "{}). Put {} before it.",
          rank, at, to_text(a, slices), to_text(producer, slices), position,
          to_text(producer, slices));
    });
  }
}

void check_pair(const Schedule& schedule, std::size_t rank, std::size_t at, Violations& found) {
  const auto& list = schedule.ranks[rank];
  const auto bad = [&](std::string_view why) {
    found.add(Rule::Pair, rank, at, [&] {
      return fmt::format(
          "rank {}, action {}: the pair that begins with {} {}. A pair is one forward "
          "and one backward (B or I).",
          rank, at, to_text(list[at], schedule.slices > 1), why);
    });
  };
  if (at + 1 == list.size()) return bad("has no second half");
  const Action& second = list[at + 1];
  if (second.overlaps_next) return bad("has a second half that begins another pair");
  const auto backward = [](const Action& a) {
    return a.kind == ActionKind::Backward || a.kind == ActionKind::InputGrad;
  };
  const auto forward = [](const Action& a) { return a.kind == ActionKind::Forward; };
  if (!(forward(list[at]) && backward(second)) && !(backward(list[at]) && forward(second)))
    bad(fmt::format("goes on with {}", to_text(second, schedule.slices > 1)));
}

bool in_range(const Schedule& schedule, const Action& a, std::size_t rank) {
  return !unknown(schedule, a) && lives_on(schedule, a, rank);
}

}  // namespace

void check_order(const Schedule& schedule, const ActionIndex& index, Violations& found) {
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    for (std::size_t at = 0; at < schedule.ranks[rank].size(); ++at) {
      const Action& a = schedule.ranks[rank][at];
      if (a.overlaps_next) check_pair(schedule, rank, at, found);
      if (is_compute(a.kind) && in_range(schedule, a, rank))
        check_needs(schedule, index, rank, at, found);
    }
}

}  // namespace headrace::internal
