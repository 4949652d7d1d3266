// SPDX-License-Identifier: Apache-2.0
#include "headrace/transport/message.h"

#include <fmt/format.h>

namespace headrace {

std::string to_text(const MessageName& name) {
  if (name.kind == MessageKind::Control)
    return fmt::format("control message {} (step {})", name.stage, name.step);
  const bool forward = name.kind == MessageKind::Activation;
  const std::string slice = name.slice > 0 ? fmt::format(", slice {}", name.slice) : "";
  return fmt::format("{} of stage {} for micro-batch {}{} (step {})",
                     forward ? "output" : "input gradient", name.stage, name.micro_batch, slice,
                     name.step);
}

std::string send_token(const MessageName& name) {
  if (name.kind == MessageKind::Control) return fmt::format("control message {}", name.stage);
  const bool forward = name.kind == MessageKind::Activation;
  const std::string slice = name.slice > 0 ? fmt::format(".{}", name.slice) : "";
  return fmt::format("{}SEND_{}{}{}", name.stage, forward ? 'F' : 'B', name.micro_batch, slice);
}

std::size_t size_of(const Message& message) {
  std::size_t size = 0;
  for (const Buffer& buffer : message.buffers) size += buffer.size;
  return size;
}

}  // namespace headrace
