// SPDX-License-Identifier: Apache-2.0
#include "headrace/execute/executor.h"

#include "headrace/base/error.h"
#include "headrace/execute/internal/boundary_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <utility>

namespace headrace {
namespace {

using internal::BoundaryExchange;
using internal::BoundaryStore;
using internal::is_backward;

// One walk over the list of one rank.
class RankStep {
 public:
  RankStep(const Schedule& schedule, StageCompute& compute, Endpoint& endpoint,
           const StepContext& context)
      : schedule_(schedule),
        list_(schedule.ranks[endpoint.rank().index()]),
        compute_(compute),
        endpoint_(endpoint),
        context_(context),
        exchange_(schedule, endpoint, context) {
    const auto goes_back = [](const Action& a) { return is_backward(a.kind); };
    forward_only_ = std::none_of(list_.begin(), list_.end(), goes_back);
    timeline_.actions.reserve(list_.size());
  }

  RankTimeline run();

 private:
  void require_supported() const;
  void run_one(std::size_t position);
  void run_pair(std::size_t position);
  [[nodiscard]] Time compute_and_hand_on(std::size_t position, Values input);
  [[nodiscard]] Values compute(const Action& action, Values input);
  void run_other(const Action& action);
  template <class Call>
  void named(std::size_t position, const Call& call);
  [[nodiscard]] std::string place(std::size_t position) const;

  [[nodiscard]] Time now() const;
  void count_birth(const Action& action);
  void count_death(const Action& action);
  void record_memory(Time at);

  const Schedule& schedule_;
  const std::vector<Action>& list_;
  StageCompute& compute_;
  Endpoint& endpoint_;
  const StepContext& context_;
  BoundaryExchange exchange_;
  RankTimeline timeline_;
  int live_ = 0;
  bool forward_only_ = false;
};

RankTimeline RankStep::run() {
  require_supported();
  for (std::size_t position = 0; position < list_.size();) {
    // Waits would notice, but a rank may have much to do before its next one.
    endpoint_.throw_if_aborted();
    const Action& action = list_[position];
    const bool pair = action.overlaps_next && position + 1 < list_.size();
    if (pair)
      run_pair(position);
    else if (!is_send(action.kind) && !is_receive(action.kind))
      run_one(position);
    position += pair ? 2 : 1;
  }
  HEADRACE_CHECK(exchange_.store().empty(),
                 "rank {} ends the step with a value that no action took", endpoint_.rank().value);
  return std::move(timeline_);
}

void RankStep::require_supported() const {
  for (std::size_t i = 0; i < list_.size(); ++i) {
    const ActionKind kind = list_[i].kind;
    if (is_send(kind) || is_receive(kind) || compute_.supports(kind)) continue;
    throw UsageError(fmt::format("{}: this compute cannot run {}. Use a schedule without it.",
                                 place(i), kind_token(kind)));
  }
}

void RankStep::run_one(std::size_t position) {
  const Action& action = list_[position];
  Values input = exchange_.fetch(action);
  const Time start = now();
  const Time end = compute_and_hand_on(position, std::move(input));
  timeline_.actions.push_back({action, start, end});
  record_memory(end);
}

// Both halves wait before the first runs: the pair is one atom, as verify() and simulate() see it.
// Neither half can need what the other makes, which verify() makes sure of.
void RankStep::run_pair(std::size_t position) {
  const Action& left = list_[position];
  const Action& right = list_[position + 1];
  Values left_input = exchange_.fetch(left);
  Values right_input = exchange_.fetch(right);
  const Time start = now();
  static_cast<void>(compute_and_hand_on(position, std::move(left_input)));
  const Time end = compute_and_hand_on(position + 1, std::move(right_input));
  timeline_.actions.push_back({left, start, end});
  timeline_.actions.push_back({right, start, end});
  record_memory(end);
}

// Returns when the compute was done, before its result went out: the receiver may begin before the
// sender comes back from sending, and would seem to run ahead of its input.
Time RankStep::compute_and_hand_on(std::size_t position, Values input) {
  const Action& action = list_[position];
  BoundaryStore& store = exchange_.store();
  if (action.kind == ActionKind::Forward && !forward_only_) store.note_width(action, input.size());
  const std::size_t width = is_backward(action.kind) ? store.take_width(action) : 0;
  count_birth(action);
  Time end{};
  named(position, [&] {
    Values result = compute(action, std::move(input));
    end = now();
    exchange_.hand_on(action, std::move(result), width);
  });
  count_death(action);
  return end;
}

Values RankStep::compute(const Action& action, Values input) {
  if (action.kind == ActionKind::Forward) return compute_.forward(action, std::move(input));
  if (is_backward(action.kind)) return compute_.backward(action, std::move(input));
  run_other(action);
  return {};
}

void RankStep::run_other(const Action& action) {
  switch (action.kind) {
    case ActionKind::WeightGrad:
      return compute_.weight_grad(action);
    case ActionKind::Recompute:
      return compute_.recompute(action);
    case ActionKind::Evict:
      return compute_.evict(action);
    case ActionKind::Load:
      return compute_.load(action);
    case ActionKind::ReduceGrad:
      return compute_.reduce_grad(action);
    case ActionKind::Update:
      return compute_.update(action);
    default:
      HEADRACE_CHECK(false, "{} is not for a compute", to_text(action));
  }
}

// Calls, and gives what is thrown the name of the action. An end that came from elsewhere, through
// the endpoint that the compute also uses, keeps its own words.
template <class Call>
void RankStep::named(std::size_t position, const Call& call) {
  try {
    call();
  } catch (const CanceledError&) {
    throw;
  } catch (const TransportError&) {
    throw;
  } catch (const std::bad_alloc& error) {
    throw ComputeError(fmt::format("{}: out of memory ({})", place(position), error.what()));
  } catch (const std::exception& error) {
    throw ComputeError(fmt::format("{}: {}", place(position), error.what()));
  } catch (...) {
    throw ComputeError(
        fmt::format("{}: threw something that is not a std::exception", place(position)));
  }
}

// "rank 2, action 7 (2B3): stage 2, micro-batch 3".
std::string RankStep::place(std::size_t position) const {
  const Action& action = list_[position];
  const bool slices = schedule_.slices > 1;
  std::string words = fmt::format("rank {}, action {} ({}): stage {}", endpoint_.rank().value,
                                  position, to_text(action, slices), action.stage.value);
  if (action.micro_batch.valid())
    words += fmt::format(", micro-batch {}", action.micro_batch.value);
  if (slices && action.micro_batch.valid()) words += fmt::format(", slice {}", action.slice);
  return words;
}

Time RankStep::now() const {
  return std::chrono::duration_cast<Time>(std::chrono::steady_clock::now() - context_.started);
}

// Counts as peak_live() does from the schedule alone, so that the two can be compared.
void RankStep::count_birth(const Action& action) {
  if (action.kind == ActionKind::Forward || action.kind == ActionKind::Load)
    timeline_.peak_live = std::max(timeline_.peak_live, ++live_);
}

void RankStep::count_death(const Action& action) {
  const ActionKind kind = action.kind;
  const bool with_forward = forward_only_ && kind == ActionKind::Forward;
  if (kind == ActionKind::Backward || kind == ActionKind::WeightGrad || kind == ActionKind::Evict ||
      with_forward)
    --live_;
}

// From the first value on also zeros: the curve must be able to come down again.
void RankStep::record_memory(Time at) {
  const std::int64_t held = compute_.bytes_held();
  if (held != 0 || !timeline_.memory.empty()) timeline_.memory.push_back({at, Bytes(held)});
}

}  // namespace

RankTimeline run_step(const Schedule& schedule, StageCompute& compute, Endpoint& endpoint,
                      const StepContext& context) {
  try {
    if (endpoint.rank_count() != schedule.rank_count())
      throw UsageError(
          fmt::format("the schedule has {} ranks, and the run has {}; make them equal.",
                      schedule.rank_count(), endpoint.rank_count()));
    return RankStep(schedule, compute, endpoint, context).run();
  } catch (const std::exception& error) {
    endpoint.abort(error.what());
    throw;
  } catch (...) {
    endpoint.abort(fmt::format("rank {}: threw something that is not a std::exception",
                               endpoint.rank().value));
    throw;
  }
}

}  // namespace headrace
