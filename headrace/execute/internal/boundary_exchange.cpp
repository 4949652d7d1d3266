// SPDX-License-Identifier: Apache-2.0
#include "headrace/execute/internal/boundary_exchange.h"

#include "headrace/base/error.h"

#include <utility>

namespace headrace::internal {
namespace {

// Where the number of values is wrong, the stage is to blame, not the one that would get them.
void require_none(const Action& action, const Values& values) {
  if (values.empty()) return;
  throw UsageError(fmt::format(
      "the {} returned {} values, and no stage comes after it",
      is_backward(action.kind) ? "backward of the first stage" : "forward of the last stage",
      values.size()));
}

// One gradient per input: no values at all means that there is a gradient of none.
void fit_gradients(Values& values, std::size_t width) {
  if (values.empty()) {
    Buffer none;
    none.defined = false;
    values.assign(width, none);
  }
  if (values.size() != width)
    throw UsageError(fmt::format("the backward returned {} gradients, and the stage has {} inputs",
                                 values.size(), width));
}

}  // namespace

Values BoundaryExchange::fetch(const Action& action) {
  const auto input = into(action);
  if (!input) return {};
  if (input->other == endpoint_.rank()) return store_.take(input->kind, input->stage, action);
  return endpoint_.receive(input->other, name_of(*input, action), deadline()).buffers;
}

void BoundaryExchange::hand_on(const Action& action, Values values, std::size_t width) {
  const auto output = out_of(action);
  if (!output) return require_none(action, values);
  if (is_backward(action.kind)) fit_gradients(values, width);
  if (output->other == endpoint_.rank())
    store_.put(output->kind, action, std::move(values));
  else
    endpoint_.send(output->other, {name_of(*output, action), std::move(values)});
}

std::optional<BoundaryExchange::Crossing> BoundaryExchange::into(const Action& action) const {
  for (const Need& need : needs_of(action, schedule_.stage_count(), schedule_.slices))
    if (need.crosses_stages)
      return Crossing{need.kind, need.stage, schedule_.rank_of(need.stage, action.micro_batch)};
  return std::nullopt;
}

std::optional<BoundaryExchange::Crossing> BoundaryExchange::out_of(const Action& action) const {
  const bool forward = action.kind == ActionKind::Forward;
  if (!forward && !is_backward(action.kind)) return std::nullopt;
  const StageId next(action.stage.value + (forward ? 1 : -1));
  if (!next.valid() || next.value >= schedule_.stage_count()) return std::nullopt;
  return Crossing{forward ? ResultKind::Output : ResultKind::InputGrad, action.stage,
                  schedule_.rank_of(next, action.micro_batch)};
}

MessageName BoundaryExchange::name_of(const Crossing& crossing, const Action& action) const {
  const bool forward = crossing.kind == ResultKind::Output;
  return {forward ? MessageKind::Activation : MessageKind::Gradient, crossing.stage.value,
          action.micro_batch.value, action.slice, context_.step};
}

// A timeout of "for ever" must not wrap around into the past.
Deadline BoundaryExchange::deadline() const {
  const auto now = Deadline::clock::now();
  return context_.timeout > Deadline::max() - now ? Deadline::max() : now + context_.timeout;
}

}  // namespace headrace::internal
