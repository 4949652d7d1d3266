// SPDX-License-Identifier: Apache-2.0
#include "headrace/simulate/internal/engine.h"

#include "headrace/base/error.h"
#include "headrace/schedule/peak.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace headrace::internal {
namespace {

constexpr std::int64_t kNever = INT64_MAX;
constexpr std::int32_t kNobody = -1;

}  // namespace

Engine::Engine(const Schedule& schedule, const StageCosts& costs, const Machine& machine,
               Detail detail)
    : schedule_(schedule),
      costs_(costs),
      machine_(machine),
      full_(detail == Detail::Full),
      with_bytes_(full_ && has_bytes(costs)),
      lowered_(schedule.is_lowered()),
      table_(schedule),
      made_(table_.size(), kNever),
      arrived_(table_.size(), kNever),
      waiter_(table_.size(), kNobody),
      position_(schedule.ranks.size(), 0),
      free_(schedule.ranks.size(), 0),
      memory_(schedule, costs) {
  timeline_.name = schedule.name;
  timeline_.ranks.resize(schedule.ranks.size());
  std::size_t messages = 0;  // or a few more
  for (std::size_t r = 0; r < schedule.ranks.size(); ++r) {
    timeline_.ranks[r].actions.reserve(schedule.ranks[r].size());
    for (const Action& a : schedule.ranks[r]) {
      evicts_ = evicts_ || a.kind == ActionKind::Evict;
      messages += (lowered_ ? is_send(a.kind) : is_compute(a.kind)) ? 1 : 0;
    }
  }
  if (full_ && schedule.ranks.size() > 1) timeline_.messages.reserve(messages);
}

Timeline Engine::run() {
  for (std::size_t r = schedule_.ranks.size(); r-- > 0;) ready_ranks_.push_back(r);
  while (!ready_ranks_.empty()) {
    const std::size_t rank = ready_ranks_.back();
    ready_ranks_.pop_back();
    advance(rank);
  }
  fail_if_stuck();
  if (with_bytes_ || evicts_) {
    memory_.write(timeline_, with_bytes_);
  } else {
    // Without evictions the count depends on the order alone.
    const auto peaks = peak_live(schedule_);
    for (std::size_t r = 0; r < peaks.size(); ++r) timeline_.ranks[r].peak_live = peaks[r];
  }
  order_messages();
  return std::move(timeline_);
}

void Engine::advance(std::size_t rank) {
  const auto& list = schedule_.ranks[rank];
  while (position_[rank] < list.size()) {
    const Action& action = list[position_[rank]];
    if (!(is_compute(action.kind) ? run_compute(rank) : run_other(rank, action))) return;
  }
}

bool Engine::run_compute(std::size_t rank) {
  const auto& list = schedule_.ranks[rank];
  const Action& first = list[position_[rank]];
  const bool pair = first.overlaps_next && position_[rank] + 1 < list.size();
  std::int64_t start = free_[rank];
  if (!ready(rank, first, start)) return false;
  if (pair && !ready(rank, list[position_[rank] + 1], start)) return false;
  const std::int64_t end = start + (pair ? pair_duration(rank, first, list[position_[rank] + 1])
                                         : duration(rank, first));
  free_[rank] = end;
  for (std::size_t half = 0; half < (pair ? 2u : 1u); ++half) {
    const Action& action = list[position_[rank]++];
    record(rank, action, start, end);
    finish(rank, action, end);
  }
  return true;
}

bool Engine::ready(std::size_t rank, const Action& action, std::int64_t& start) {
  for (const Need& need : needs_of(action, schedule_.stage_count(), schedule_.slices)) {
    const std::size_t result = table_.at(need.kind, need.stage, action.micro_batch, need.slice);
    const bool here =
        !need.crosses_stages || schedule_.rank_of(need.stage, action.micro_batch).index() == rank;
    const std::int64_t at = here ? made_[result] : arrived_[result];
    if (at == kNever) {
      waiter_[result] = static_cast<std::int32_t>(rank);
      return false;
    }
    start = std::max(start, at);
  }
  if (!loaded_.empty() && action.kind != ActionKind::Forward) {
    Action load = action;
    load.kind = ActionKind::Load;
    load.overlaps_next = false;
    if (const auto back = loaded_.find(load); back != loaded_.end())
      start = std::max(start, back->second);
  }
  return true;
}

void Engine::finish(std::size_t rank, const Action& action, std::int64_t end) {
  if (action.kind == ActionKind::Forward) {
    hand_on(rank, action, ResultKind::Output, end);
  } else if (action.kind != ActionKind::WeightGrad) {
    hand_on(rank, action, ResultKind::InputGrad, end);
  }
}

void Engine::hand_on(std::size_t rank, const Action& producer, ResultKind kind, std::int64_t at) {
  const std::size_t result = table_.at(kind, producer.stage, producer.micro_batch, producer.slice);
  made_[result] = at;
  const bool forward = kind == ResultKind::Output;
  const StageId peer(producer.stage.value + (forward ? 1 : -1));
  const bool crosses = peer.value >= 0 && peer.value < schedule_.stage_count() &&
                       schedule_.rank_of(peer, producer.micro_batch).index() != rank;
  if (crosses && !lowered_) {
    Action send = producer;
    send.overlaps_next = false;
    send.kind = forward ? ActionKind::SendForward : ActionKind::SendBackward;
    run_other(rank, send);
  } else if (waiter_[result] != kNobody && !crosses) {
    arrive(result, at);
  }
}

void Engine::arrive(std::size_t result, std::int64_t at) {
  arrived_[result] = at;
  if (waiter_[result] == kNobody) return;
  ready_ranks_.push_back(static_cast<std::size_t>(waiter_[result]));
  waiter_[result] = kNobody;
}

bool Engine::run_other(std::size_t rank, const Action& action) {
  if (is_receive(action.kind) && !machine_.sends_block) {
    ++position_[rank];
    return true;
  }
  if (is_send(action.kind) || is_receive(action.kind)) {
    if (machine_.sends_block) return meet(rank, action);
    const bool forward = action.kind == ActionKind::SendForward;
    const RankId to =
        schedule_.rank_of(StageId(action.stage.value + (forward ? 1 : -1)), action.micro_batch);
    const RankId from(static_cast<std::int64_t>(rank));
    const Link& link = machine_.link_between(from, to);
    const Bytes size = costs_.stages[action.stage.index() - (forward ? 0 : 1)].output;
    std::int64_t sent = free_[rank];
    if (machine_.links_contend) {
      auto& busy = link_free_[{rank, to.index()}];
      sent = std::max(sent, busy);
      busy = sent + occupied_time(link, size).count();
    }
    const std::int64_t at = sent + transfer_time(link, size).count();
    note_message(action, from, to, sent, at);
    arrive(table_.at(forward ? ResultKind::Output : ResultKind::InputGrad, action.stage,
                     action.micro_batch, action.slice),
           at);
    if (lowered_) ++position_[rank];
    return true;
  }
  ++position_[rank];
  if (action.kind == ActionKind::Evict || action.kind == ActionKind::Load) {
    run_eviction(rank, action);
    return true;
  }
  const std::int64_t start = free_[rank];
  free_[rank] += duration(rank, action);
  record(rank, action, start, free_[rank]);
  return true;
}

// The transfer goes on beside the computation; only the backward that needs the activation waits.
void Engine::run_eviction(std::size_t rank, const Action& action) {
  const RankId own(static_cast<std::int64_t>(rank));
  const RankId host = schedule_.hosts[rank];
  const bool away = action.kind == ActionKind::Evict;
  const Link& link = away ? machine_.link_between(own, host) : machine_.link_between(host, own);
  const Bytes size = costs_.stages[action.stage.index()].activation;
  const std::int64_t start = free_[rank];
  const std::int64_t end = start + transfer_time(link, size).count();
  if (away)
    memory_.evicted(rank, action, Time(start), Time(end));
  else
    memory_.loaded(rank, action, Time(start), Time(end));
  if (!away) loaded_[action] = end;
  timeline_.ranks[rank].actions.push_back({action, Time(start), Time(start)});
}

// Blocking transfers: both ranks stand at their end of the message and leave together.
bool Engine::meet(std::size_t rank, const Action& action) {
  const bool forward =
      action.kind == ActionKind::SendForward || action.kind == ActionKind::RecvForward;
  const bool sends = is_send(action.kind);
  const StageId peer_stage(action.stage.value + (forward == sends ? 1 : -1));
  const std::size_t peer = schedule_.rank_of(peer_stage, action.micro_batch).index();
  Action other = action;
  other.stage = peer_stage;
  if (forward)
    other.kind = sends ? ActionKind::RecvForward : ActionKind::SendForward;
  else
    other.kind = sends ? ActionKind::RecvBackward : ActionKind::SendBackward;
  const auto& list = schedule_.ranks[peer];
  if (position_[peer] >= list.size() || list[position_[peer]] != other) return false;

  const Action& send = sends ? action : other;
  const std::size_t from = sends ? rank : peer;
  const std::size_t to = sends ? peer : rank;
  const Link& link = machine_.link_between(RankId(static_cast<std::int64_t>(from)),
                                           RankId(static_cast<std::int64_t>(to)));
  const Bytes size = costs_.stages[send.stage.index() - (forward ? 0 : 1)].output;
  const std::int64_t begin = std::max(free_[rank], free_[peer]);
  const std::int64_t end = begin + transfer_time(link, size).count();
  record(rank, action, free_[rank], end);
  record(peer, other, free_[peer], end);
  note_message(send, RankId(static_cast<std::int64_t>(from)), RankId(static_cast<std::int64_t>(to)),
               begin, end);
  free_[rank] = free_[peer] = end;
  ++position_[rank];
  ++position_[peer];
  ready_ranks_.push_back(peer);
  arrive(table_.at(forward ? ResultKind::Output : ResultKind::InputGrad, send.stage,
                   send.micro_batch, send.slice),
         end);
  return true;
}

void Engine::record(std::size_t rank, const Action& action, std::int64_t start, std::int64_t end) {
  timeline_.ranks[rank].actions.push_back({action, Time(start), Time(end)});
  if (with_bytes_ || evicts_) memory_.ran(rank, action, Time(start), Time(end));
}

void Engine::note_message(const Action& send, RankId from, RankId to, std::int64_t sent,
                          std::int64_t arrived) {
  if (!full_) return;
  const std::size_t sized = send.stage.index() - (send.kind == ActionKind::SendForward ? 0 : 1);
  timeline_.messages.push_back(
      {send, from, to, Time(sent), Time(arrived), costs_.stages[sized].output});
}

void Engine::order_messages() {
  std::stable_sort(timeline_.messages.begin(), timeline_.messages.end(),
                   [](const TimedMessage& a, const TimedMessage& b) {
                     return std::tie(a.sent, a.from) < std::tie(b.sent, b.from);
                   });
}

std::int64_t Engine::scaled(std::size_t rank, std::int64_t cost) const {
  const std::int64_t speed = machine_.ranks[rank].speed_permille;
  if (speed == 1000) return cost;
  __extension__ using Wide = __int128;
  return static_cast<std::int64_t>((Wide{cost} * 1000 + speed - 1) / speed);
}

std::int64_t Engine::duration(std::size_t rank, const Action& action) const {
  const StageCost& stage = costs_.stages[action.stage.index()];
  if (action.kind == ActionKind::Recompute) return scaled(rank, stage.recompute.count());
  if (action.kind == ActionKind::Update) return scaled(rank, stage.update.count());
  if (!is_compute(action.kind)) return 0;
  ActionTimes times{stage.forward, stage.input_grad, stage.weight_grad};
  if (!costs_.per_micro_batch.empty())
    times =
        costs_
            .per_micro_batch[action.stage.index()][action.micro_batch.index() *
                                                       static_cast<std::size_t>(schedule_.slices) +
                                                   static_cast<std::size_t>(action.slice)];
  switch (action.kind) {
    case ActionKind::Forward:
      return scaled(rank, times.forward.count());
    case ActionKind::InputGrad:
      return scaled(rank, times.input_grad.count());
    case ActionKind::WeightGrad:
      return scaled(rank, times.weight_grad.count());
    default:
      return scaled(rank, (times.input_grad + times.weight_grad).count());
  }
}

std::int64_t Engine::pair_duration(std::size_t rank, const Action& first,
                                   const Action& second) const {
  if (costs_.pair) return scaled(rank, costs_.pair->count());
  return duration(rank, first) + duration(rank, second);
}

void Engine::fail_if_stuck() const {
  std::string waiting;
  int named = 0;
  for (std::size_t r = 0; r < position_.size(); ++r) {
    if (position_[r] == schedule_.ranks[r].size() || ++named > 4) continue;
    waiting +=
        fmt::format("{}rank {} at {} (action {})", waiting.empty() ? "" : ", ", r,
                    to_text(schedule_.ranks[r][position_[r]], schedule_.slices > 1), position_[r]);
  }
  if (!waiting.empty())
    throw UsageError(
        fmt::format("the schedule cannot finish: {} wait{} for each other or for what "
                    "never comes; run verify on it",
                    waiting, named == 1 ? "s" : ""));
}

}  // namespace headrace::internal
