// SPDX-License-Identifier: Apache-2.0
#include "headrace/runtime/step_exchange.h"

#include "headrace/base/error.h"
#include "headrace/runtime/buffers.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

namespace headrace {
namespace {

// The `stage` of a control message says what it is about.
enum Topic : std::int32_t { kDirectory, kTiedGradient, kTiedValue, kNormPart, kNorm, kLossMade };

MessageName control(Topic topic, std::int64_t step, std::size_t index = 0) {
  return {MessageKind::Control, topic, static_cast<std::int32_t>(index), 0, step};
}

Message message_of(const MessageName& name, at::Tensor tensor) {
  Message message{name, {}};
  message.buffers.push_back(to_buffer(std::move(tensor)));
  return message;
}

at::Tensor tensor_of(Message message) {
  return to_tensor(std::move(message.buffers.at(0)));
}

at::Tensor bytes_of(const std::string& text) {
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(text.size())}, at::kByte);
  std::memcpy(tensor.data_ptr(), text.data(), text.size());
  return tensor;
}

std::string text_of(const at::Tensor& tensor) {
  return {static_cast<const char*>(tensor.data_ptr()), tensor.nbytes()};
}

// Sum of squares in double over pieces that float32 sums well.
double sum_of_squares(const at::Tensor& grad) {
  constexpr std::int64_t kPiece = 16384;
  const at::Tensor flat = grad.reshape({-1});
  double sum = 0;
  for (std::int64_t first = 0; first < flat.numel(); first += kPiece) {
    const at::Tensor piece = flat.narrow(0, first, std::min(kPiece, flat.numel() - first));
    sum += at::dot(piece, piece).item<double>();
  }
  return sum;
}

}  // namespace

StepExchange::StepExchange(Endpoint& endpoint, const StageRunner& runner,
                           std::chrono::nanoseconds timeout)
    : endpoint_(endpoint), runner_(runner), timeout_(timeout) {
  share_directory();
  find_ties();
}

Deadline StepExchange::deadline() const {
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(timeout_);
}

Parameter* StepExchange::own_parameter(const std::string& name) const {
  for (const PlacedParameter& placed : runner_.parameters())
    if (placed.parameter->name == name) return placed.parameter;
  return nullptr;
}

void StepExchange::share_directory() {
  nlohmann::json own = nlohmann::json::array();
  for (const PlacedParameter& placed : runner_.parameters()) {
    const Parameter& p = *placed.parameter;
    own.push_back({placed.order, p.name, p.tied_to});
    directory_.push_back({placed.order, p.name, p.tied_to, endpoint_.rank()});
  }
  const std::string text = own.dump();
  for (int r = 0; r < endpoint_.rank_count(); ++r)
    if (RankId(r) != endpoint_.rank())
      endpoint_.send(RankId(r), message_of(control(kDirectory, 0), bytes_of(text)));
  for (int r = 0; r < endpoint_.rank_count(); ++r) {
    if (RankId(r) == endpoint_.rank()) continue;
    const auto theirs = nlohmann::json::parse(
        text_of(tensor_of(endpoint_.receive(RankId(r), control(kDirectory, 0), deadline()))));
    for (const auto& entry : theirs)
      directory_.push_back({entry[0].get<std::int64_t>(), entry[1].get<std::string>(),
                            entry[2].get<std::string>(), RankId(r)});
  }
  std::sort(directory_.begin(), directory_.end(), [](const auto& a, const auto& b) {
    return std::tie(a.order, a.rank) < std::tie(b.order, b.rank);
  });
}

void StepExchange::find_ties() {
  for (const DirectoryEntry& use : directory_) {
    if (use.tied_to.empty()) continue;
    const auto owner = std::find_if(directory_.begin(), directory_.end(), [&](const auto& entry) {
      return entry.name == use.tied_to && entry.tied_to.empty();
    });
    if (owner == directory_.end())
      throw UsageError(
          fmt::format("{} is tied to {}, which no layer has; untie it, or name the "
                      "owner as the layer does",
                      use.name, use.tied_to));
    Tie tie{owner->rank, use.rank, nullptr, nullptr};
    if (tie.owner_rank == endpoint_.rank()) tie.owner = own_parameter(owner->name);
    if (tie.use_rank == endpoint_.rank()) tie.use = own_parameter(use.name);
    ties_.push_back(tie);
  }
}

void StepExchange::add_tied_gradients(std::int64_t step) {
  for (std::size_t i = 0; i < ties_.size(); ++i) {
    const Tie& tie = ties_[i];
    const MessageName name = control(kTiedGradient, step, i);
    if (tie.use != nullptr && tie.owner == nullptr)
      endpoint_.send(tie.owner_rank,
                     message_of(name, tie.use->has_grad ? tie.use->grad : at::Tensor()));
    if (tie.owner == nullptr) continue;
    const at::Tensor grad = tie.use == nullptr
                                ? tensor_of(endpoint_.receive(tie.use_rank, name, deadline()))
                                : (tie.use->has_grad ? tie.use->grad : at::Tensor());
    if (grad.defined()) accumulate(*tie.owner, grad);
  }
}

double StepExchange::global_norm(std::int64_t step) {
  std::vector<std::pair<std::int64_t, double>> parts;
  for (const PlacedParameter& placed : runner_.parameters())
    if (placed.parameter->tied_to.empty() && placed.parameter->has_grad)
      parts.emplace_back(placed.order, sum_of_squares(placed.parameter->grad));

  if (endpoint_.rank().value != 0) {
    at::Tensor packed = at::empty({static_cast<std::int64_t>(parts.size()), 2}, at::kDouble);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      packed.data_ptr<double>()[2 * i] = static_cast<double>(parts[i].first);
      packed.data_ptr<double>()[2 * i + 1] = parts[i].second;
    }
    endpoint_.send(RankId(0), message_of(control(kNormPart, step), packed));
    return tensor_of(endpoint_.receive(RankId(0), control(kNorm, step), deadline())).item<double>();
  }
  for (int r = 1; r < endpoint_.rank_count(); ++r) {
    const at::Tensor packed =
        tensor_of(endpoint_.receive(RankId(r), control(kNormPart, step), deadline()));
    const double* data = packed.data_ptr<double>();
    for (std::int64_t i = 0; i < packed.size(0); ++i)
      parts.emplace_back(static_cast<std::int64_t>(data[2 * i]), data[2 * i + 1]);
  }
  std::sort(parts.begin(), parts.end());
  double sum = 0;
  for (const auto& [order, part] : parts) sum += part;
  const double norm = std::sqrt(sum);
  for (int r = 1; r < endpoint_.rank_count(); ++r)
    endpoint_.send(RankId(r), message_of(control(kNorm, step), at::full({}, norm, at::kDouble)));
  return norm;
}

void StepExchange::share_tied_values(std::int64_t step) {
  for (std::size_t i = 0; i < ties_.size(); ++i) {
    const Tie& tie = ties_[i];
    if (tie.owner_rank == tie.use_rank) continue;
    const MessageName name = control(kTiedValue, step, i);
    // The owner may write its value again only in the next step's update, which waits for a
    // gradient that the receiver sends after it has copied this one; so the memory itself can be
    // handed over.
    if (tie.owner != nullptr) endpoint_.send(tie.use_rank, message_of(name, tie.owner->value));
    if (tie.use != nullptr)
      tie.use->value.copy_(tensor_of(endpoint_.receive(tie.owner_rank, name, deadline())));
  }
}

void StepExchange::tell_loss_made(RankId first_stage, std::int64_t pass, int micro_batch) {
  const auto index = static_cast<std::size_t>(micro_batch);
  endpoint_.send(first_stage, Message{control(kLossMade, pass, index), {}});
}

void StepExchange::wait_for_loss(RankId last_stage, std::int64_t pass, int micro_batch) {
  const auto index = static_cast<std::size_t>(micro_batch);
  static_cast<void>(endpoint_.receive(last_stage, control(kLossMade, pass, index), deadline()));
}

std::vector<Parameter*> StepExchange::owned() const {
  std::vector<Parameter*> own;
  for (const PlacedParameter& placed : runner_.parameters())
    if (placed.parameter->tied_to.empty()) own.push_back(placed.parameter);
  return own;
}

}  // namespace headrace
