// SPDX-License-Identifier: Apache-2.0
//
//   rank 0 ── send(1, a) ──►  ┌ mailbox of rank 1 ─────────────┐
//                             │ (0, a)   (2, b)    last heard  │ ──► receive(0, a) ── rank 1
//   rank 2 ── send(1, b) ──►  └────────────────────────────────┘
//
// A mailbox has a lock of its own, and nobody ever holds two: no order of locks can be wrong.
#include "headrace/transport/in_process.h"

#include "headrace/base/error.h"
#include "headrace/transport/wait_words.h"

#include <fmt/format.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

// What a rank last got from another.
struct Heard {
  MessageName name;
  Clock::time_point at;
};

// (source, name): what a receive asks for.
using Address = std::pair<RankId, MessageName>;

struct Mailbox {
  std::mutex mutex;
  std::condition_variable changed;  // a message came, or the run was aborted
  std::map<Address, Message> messages;
  std::vector<std::optional<Heard>> heard;  // per source
  std::optional<Address> waiting_for;       // what its rank waits for, or gave up to wait for
  std::optional<std::string> abort_reason;
};

// What all endpoints of one run share.
class Mailboxes {
 public:
  explicit Mailboxes(int ranks) : boxes_(static_cast<std::size_t>(ranks)) {
    for (Mailbox& box : boxes_) box.heard.resize(boxes_.size());
  }

  [[nodiscard]] int count() const { return static_cast<int>(boxes_.size()); }
  void put(RankId from, RankId to, Message&& message);
  [[nodiscard]] Message take(RankId rank, const Address& wanted, Deadline deadline);
  void throw_if_aborted(RankId rank);
  void abort(const std::string& reason);

 private:
  [[nodiscard]] LateMessage describe(const Wait& wait, Clock::time_point since);
  [[nodiscard]] std::optional<Wait> wait_of(RankId rank);

  std::vector<Mailbox> boxes_;
  std::mutex abort_mutex_;
  std::optional<std::string> first_reason_;
};

void Mailboxes::put(RankId from, RankId to, Message&& message) {
  Mailbox& box = boxes_[to.index()];
  const MessageName name = message.name;
  bool awaited = false;
  {
    const std::lock_guard lock(box.mutex);
    if (box.abort_reason) throw CanceledError(*box.abort_reason);
    const Address address{from, name};
    if (!box.messages.try_emplace(address, std::move(message)).second)
      throw TransportError(
          fmt::format("rank {}: {} to rank {} was sent twice, and the first is not received yet. "
                      "Give each message of a channel its own name.",
                      from.value, to_text(name), to.value));
    box.heard[from.index()] = Heard{name, Clock::now()};
    awaited = box.waiting_for == address;
  }
  if (awaited) box.changed.notify_one();
}

Message Mailboxes::take(RankId rank, const Address& wanted, Deadline deadline) {
  Mailbox& box = boxes_[rank.index()];
  const auto since = Clock::now();
  {
    std::unique_lock lock(box.mutex);
    const auto done = [&] { return box.abort_reason || box.messages.contains(wanted); };
    box.waiting_for.reset();
    if (!done()) {
      box.waiting_for = wanted;
      // Stays set where the deadline passes: ranks that wait in a row give up almost together, and
      // each must still be seen to wait for the next.
      if (box.changed.wait_until(lock, deadline, done)) box.waiting_for.reset();
    }
    if (box.abort_reason) throw CanceledError(*box.abort_reason);
    if (auto node = box.messages.extract(wanted)) return std::move(node.mapped());
  }
  throw TransportError(to_text(describe({rank, wanted.first, wanted.second}, since)));
}

LateMessage Mailboxes::describe(const Wait& wait, Clock::time_point since) {
  LateMessage late;
  late.wait = wait;
  {
    Mailbox& box = boxes_[wait.rank.index()];
    const std::lock_guard lock(box.mutex);
    const auto now = Clock::now();
    late.waited = now - since;
    if (const auto& heard = box.heard[wait.from.index()]) {
      late.last_heard = heard->name;
      late.since_heard = now - heard->at;
    }
  }
  // The ranks go on while they are looked at, so this is a hint; its length is bounded all the
  // same.
  RankId next = wait.from;
  for (int i = 0; i < count() && next != wait.rank; ++i) {
    const auto other = wait_of(next);
    if (!other) break;
    late.chain.push_back(*other);
    next = other->from;
  }
  return late;
}

std::optional<Wait> Mailboxes::wait_of(RankId rank) {
  Mailbox& box = boxes_[rank.index()];
  const std::lock_guard lock(box.mutex);
  if (!box.waiting_for) return std::nullopt;
  return Wait{rank, box.waiting_for->first, box.waiting_for->second};
}

void Mailboxes::throw_if_aborted(RankId rank) {
  Mailbox& box = boxes_[rank.index()];
  const std::lock_guard lock(box.mutex);
  if (box.abort_reason) throw CanceledError(*box.abort_reason);
}

void Mailboxes::abort(const std::string& reason) {
  std::string first;
  {
    const std::lock_guard lock(abort_mutex_);
    if (!first_reason_) first_reason_ = reason;
    first = *first_reason_;
  }
  for (Mailbox& box : boxes_) {
    {
      const std::lock_guard lock(box.mutex);
      box.abort_reason = first;
    }
    box.changed.notify_all();
  }
}

class InProcessEndpoint : public Endpoint {
 public:
  InProcessEndpoint(std::shared_ptr<Mailboxes> mailboxes, RankId rank)
      : mailboxes_(std::move(mailboxes)), rank_(rank) {}

  [[nodiscard]] RankId rank() const override { return rank_; }
  [[nodiscard]] int rank_count() const override { return mailboxes_->count(); }

  void send(RankId to, Message message) override {
    require_rank(to, "send to");
    const std::size_t size = to == rank_ ? 0 : size_of(message);
    mailboxes_->put(rank_, to, std::move(message));
    bytes_sent_ += size;
  }

  [[nodiscard]] Message receive(RankId from, const MessageName& name, Deadline deadline) override {
    require_rank(from, "receive from");
    return mailboxes_->take(rank_, {from, name}, deadline);
  }

  void throw_if_aborted() override { mailboxes_->throw_if_aborted(rank_); }
  void abort(const std::string& reason) override { mailboxes_->abort(reason); }
  [[nodiscard]] std::size_t bytes_sent() const override { return bytes_sent_; }

 private:
  void require_rank(RankId other, std::string_view what) const {
    if (other.value < 0 || other.value >= rank_count())
      throw UsageError(fmt::format("rank {}: cannot {} rank {}; there are ranks 0 to {}.",
                                   rank_.value, what, other.value, rank_count() - 1));
  }

  std::shared_ptr<Mailboxes> mailboxes_;  // other owners: the endpoints of the other ranks
  RankId rank_;
  std::size_t bytes_sent_ = 0;
};

}  // namespace

std::vector<std::unique_ptr<Endpoint>> in_process_endpoints(int ranks) {
  if (ranks < 1)
    throw UsageError(fmt::format("there are {} ranks; give a number of 1 or more.", ranks));
  const auto mailboxes = std::make_shared<Mailboxes>(ranks);
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  for (int r = 0; r < ranks; ++r)
    endpoints.push_back(std::make_unique<InProcessEndpoint>(mailboxes, RankId(r)));
  return endpoints;
}

}  // namespace headrace
