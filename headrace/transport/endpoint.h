// SPDX-License-Identifier: Apache-2.0
//
// One rank's view of all the others.
#pragma once

#include "headrace/base/ids.h"
#include "headrace/transport/message.h"

#include <chrono>
#include <cstddef>
#include <string>

namespace headrace {

using Deadline = std::chrono::steady_clock::time_point;

// Used by one thread, that of its rank; only abort() may be called from any thread.
//
// There is one channel per (source, destination). A receive names what it wants, so messages may be
// received in another order than they were sent; a message that nobody asked for yet waits.
class Endpoint {
 public:
  virtual ~Endpoint() = default;

  [[nodiscard]] virtual RankId rank() const = 0;
  [[nodiscard]] virtual int rank_count() const = 0;

  // Hands the message over and returns at once. Sending to oneself is allowed.
  // Throws CanceledError after an abort.
  virtual void send(RankId to, Message message) = 0;

  // Waits for the message. Throws TransportError when it is not there by `deadline`, naming what
  // was waited for and what was last heard from that rank; CanceledError after an abort.
  [[nodiscard]] virtual Message receive(RankId from, const MessageName& name,
                                        Deadline deadline) = 0;

  // Throws CanceledError after an abort: for a rank that computes for long without a message.
  virtual void throw_if_aborted() = 0;

  // Ends every wait of every rank, now and later, with CanceledError(reason). The first reason
  // wins.
  virtual void abort(const std::string& reason) = 0;

  // Bytes sent so far by this rank to others.
  [[nodiscard]] virtual std::size_t bytes_sent() const = 0;
};

}  // namespace headrace
