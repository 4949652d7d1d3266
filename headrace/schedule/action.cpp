// SPDX-License-Identifier: Apache-2.0
#include "headrace/schedule/action.h"

#include <fmt/format.h>

#include <array>

namespace headrace {
namespace {

constexpr std::array<std::string_view, kActionKinds> kTokens{
    "F",      "B",         "I",     "W",    "SEND_F",      "RECV_F", "SEND_B",
    "RECV_B", "RECOMPUTE", "EVICT", "LOAD", "REDUCE_GRAD", "UPDATE"};

}  // namespace

std::string_view kind_token(ActionKind kind) {
  return kTokens[static_cast<std::size_t>(kind)];
}

std::string to_text(const Action& action, bool with_slice) {
  std::string text = fmt::format("{}{}", action.stage.value, kind_token(action.kind));
  if (action.micro_batch.valid()) text += fmt::format("{}", action.micro_batch.value);
  if (with_slice && action.micro_batch.valid()) text += fmt::format(".{}", action.slice);
  return text;
}

}  // namespace headrace
