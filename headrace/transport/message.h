// SPDX-License-Identifier: Apache-2.0
//
// What travels between ranks: named, self-describing, owned.
#pragma once

#include "headrace/base/ids.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace headrace {

enum class MessageKind : std::uint8_t {
  Activation,  // the output of `stage`, to the stage after it
  Gradient,    // the gradient of the input of `stage`, to the stage before it
  Control,     // what ranks agree on between actions: norms, tied gradients; `stage` numbers them
};

// Matches a receive to its send. Two messages of one channel never share a name.
struct MessageName {
  MessageKind kind = MessageKind::Activation;
  std::int32_t stage = 0;  // that made it
  std::int32_t micro_batch = 0;
  std::int32_t slice = 0;
  std::int64_t step = 0;  // counts training steps and evaluation passes, from 0

  constexpr auto operator<=>(const MessageName&) const = default;
};

// "output of stage 2 for micro-batch 5 (step 3)".
[[nodiscard]] std::string to_text(const MessageName& name);

// The send action that the message belongs to: "2SEND_F5", "2SEND_F5.1" for a later slice, or
// "control message 2".
[[nodiscard]] std::string send_token(const MessageName& name);

// A dense row-major array of any element type. `owner` keeps `data` alive; within a process it is
// handed over, not copied. `dtype` is a code of the caller (torch's ScalarType in the runtime).
struct Buffer {
  std::shared_ptr<void> owner;  // second owner: a tensor view of the receiver
  std::byte* data = nullptr;
  std::size_t size = 0;  // in bytes
  std::int32_t dtype = 0;
  std::vector<std::int64_t> shape;
  bool requires_grad = false;  // the sender can use a gradient of it
  bool defined = true;         // false: no value, such as a gradient that is zero everywhere
};

// All values that cross one stage boundary for one micro-batch.
struct Message {
  MessageName name;
  std::vector<Buffer> buffers;
};

// The bytes of all its buffers.
[[nodiscard]] std::size_t size_of(const Message& message);

}  // namespace headrace
