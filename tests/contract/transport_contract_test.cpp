// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/transport_contract.h"

#include "headrace/base/error.h"
#include "headrace/execute/rank_threads.h"

#include <gmock/gmock.h>

#include <cstring>
#include <thread>

namespace headrace::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

Deadline in(std::chrono::nanoseconds time) {
  return Clock::now() + time;
}

MessageName name(int micro_batch, std::int64_t step = 0) {
  return {MessageKind::Activation, 0, micro_batch, 0, step};
}

// `bytes` bytes that depend on `seed`.
Buffer buffer_of(std::size_t bytes, unsigned seed) {
  auto owner = std::make_shared<std::vector<std::byte>>(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    (*owner)[i] = static_cast<std::byte>((i * 31 + seed) & 0xff);
  Buffer buffer;
  buffer.data = owner->data();
  buffer.size = bytes;
  buffer.dtype = static_cast<std::int32_t>(seed % 7);
  buffer.shape = {static_cast<std::int64_t>(bytes)};
  buffer.requires_grad = seed % 2 == 0;
  buffer.owner = std::move(owner);
  return buffer;
}

Message message_of(const MessageName& label, std::size_t bytes) {
  return {label, {buffer_of(bytes, static_cast<unsigned>(label.micro_batch))}};
}

void expect_same(const Message& got, const Message& want) {
  EXPECT_EQ(got.name, want.name);
  ASSERT_EQ(got.buffers.size(), want.buffers.size());
  for (std::size_t i = 0; i < want.buffers.size(); ++i) {
    const Buffer& a = got.buffers[i];
    const Buffer& b = want.buffers[i];
    EXPECT_EQ(a.dtype, b.dtype);
    EXPECT_EQ(a.shape, b.shape);
    EXPECT_EQ(a.requires_grad, b.requires_grad);
    EXPECT_EQ(a.defined, b.defined);
    ASSERT_EQ(a.size, b.size);
    const bool equal = a.size == 0 || std::memcmp(a.data, b.data, a.size) == 0;
    EXPECT_TRUE(equal) << to_text(want.name) << ", buffer " << i;
  }
}

template <class ErrorType>
std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const ErrorType& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST_P(TransportContract, KnowsRanksAndTheirNumber) {
  const auto endpoints = GetParam().connect(3);
  ASSERT_EQ(endpoints.size(), 3u);
  for (int r = 0; r < 3; ++r) {
    EXPECT_EQ(endpoints[static_cast<std::size_t>(r)]->rank(), RankId(r));
    EXPECT_EQ(endpoints[static_cast<std::size_t>(r)]->rank_count(), 3);
  }
}

TEST_P(TransportContract, DeliversMessagesInAnyOrderThatIsAskedFor) {
  const auto endpoints = GetParam().connect(2);
  for (int k = 0; k < 5; ++k) endpoints[0]->send(RankId(1), message_of(name(k), 8));
  for (const int k : {3, 0, 4, 1, 2})
    expect_same(endpoints[1]->receive(RankId(0), name(k), in(seconds(10))), message_of(name(k), 8));
}

TEST_P(TransportContract, TellsMessagesApartByEveryPartOfTheName) {
  const auto endpoints = GetParam().connect(3);
  std::vector<MessageName> names(6, name(1, 1));
  names[1].kind = MessageKind::Gradient;
  names[2].stage = 4;
  names[3].micro_batch = 2;
  names[4].slice = 1;
  names[5].step = 2;
  for (const int source : {0, 2})
    for (std::size_t i = 0; i < names.size(); ++i) {
      Message message = message_of(names[i], 16 * i + static_cast<std::size_t>(source));
      endpoints[static_cast<std::size_t>(source)]->send(RankId(1), std::move(message));
    }
  for (std::size_t i = names.size(); i-- > 0;)
    for (const int source : {2, 0})
      expect_same(endpoints[1]->receive(RankId(source), names[i], in(seconds(10))),
                  message_of(names[i], 16 * i + static_cast<std::size_t>(source)));
}

TEST_P(TransportContract, CarriesEmptyAndUndefinedAndSeveralBuffers) {
  const auto endpoints = GetParam().connect(2);
  Buffer undefined;
  undefined.defined = false;
  Buffer scalar = buffer_of(4, 3);
  scalar.shape = {};
  Buffer empty = buffer_of(0, 2);
  empty.shape = {2, 0, 3};
  const Message mixed{name(0), {buffer_of(64, 1), undefined, empty, scalar}};
  const Message nothing{name(1), {}};
  endpoints[0]->send(RankId(1), mixed);
  endpoints[0]->send(RankId(1), nothing);
  expect_same(endpoints[1]->receive(RankId(0), name(1), in(seconds(10))), nothing);
  expect_same(endpoints[1]->receive(RankId(0), name(0), in(seconds(10))), mixed);
}

TEST_P(TransportContract, CarriesBigMessagesBothWaysAtOnce) {
  const auto endpoints = GetParam().connect(2);
  constexpr std::size_t kBig = std::size_t{16} << 20;
  run_ranks(2, [&](RankId rank) {
    Endpoint& endpoint = *endpoints[rank.index()];
    const RankId other(1 - rank.value);
    // Both send first: a send that waited for its receive would hang here.
    endpoint.send(other, message_of(name(rank.value), kBig));
    expect_same(endpoint.receive(other, name(other.value), in(seconds(30))),
                message_of(name(other.value), kBig));
  });
}

TEST_P(TransportContract, SendsToItself) {
  const auto endpoints = GetParam().connect(1);
  endpoints[0]->send(RankId(0), message_of(name(4), 32));
  expect_same(endpoints[0]->receive(RankId(0), name(4), in(seconds(10))), message_of(name(4), 32));
  EXPECT_EQ(endpoints[0]->bytes_sent(), 0u);
}

TEST_P(TransportContract, CountsBytesSentToOthers) {
  const auto endpoints = GetParam().connect(2);
  endpoints[0]->send(RankId(1), message_of(name(0), 100));
  endpoints[0]->send(RankId(1), {name(1), {buffer_of(20, 1), buffer_of(3, 2)}});
  EXPECT_EQ(endpoints[0]->bytes_sent(), 123u);
  EXPECT_EQ(endpoints[1]->bytes_sent(), 0u);
}

TEST_P(TransportContract, LetsANameBeUsedAgainOnceItIsReceived) {
  const auto endpoints = GetParam().connect(2);
  for (int round = 0; round < 3; ++round) {
    endpoints[0]->send(RankId(1), message_of(name(0), 8));
    expect_same(endpoints[1]->receive(RankId(0), name(0), in(seconds(10))), message_of(name(0), 8));
  }
}

TEST_P(TransportContract, RefusesTwoWaitingMessagesOfOneName) {
  const auto endpoints = GetParam().connect(2);
  // Where the sender cannot see it, the receiver does: one of the two calls reports it.
  const std::string message = error_of<TransportError>([&] {
    endpoints[0]->send(RankId(1), message_of(name(0), 8));
    endpoints[0]->send(RankId(1), message_of(name(0), 8));
    (void)endpoints[1]->receive(RankId(0), name(1), in(seconds(10)));
  });
  EXPECT_THAT(message, HasSubstr("output of stage 0 for micro-batch 0 (step 0)"));
  EXPECT_THAT(message, HasSubstr("sent twice"));
}

TEST_P(TransportContract, RefusesRanksThatDoNotExist) {
  const auto endpoints = GetParam().connect(2);
  for (const int other : {-1, 2}) {
    EXPECT_THROW(endpoints[0]->send(RankId(other), message_of(name(0), 8)), UsageError);
    EXPECT_THROW((void)endpoints[0]->receive(RankId(other), name(0), in(seconds(10))), UsageError);
  }
}

TEST_P(TransportContract, GivesUpAtTheDeadlineAndSaysWhatWasLastHeard) {
  const auto endpoints = GetParam().connect(3);
  endpoints[2]->send(RankId(1), message_of(name(4, 3), 8));
  expect_same(endpoints[1]->receive(RankId(2), name(4, 3), in(seconds(10))),
              message_of(name(4, 3), 8));
  const auto started = Clock::now();
  const std::string message = error_of<TransportError>(
      [&] { (void)endpoints[1]->receive(RankId(2), name(5, 3), in(milliseconds(100))); });
  EXPECT_GE(Clock::now() - started, milliseconds(100));
  EXPECT_LT(Clock::now() - started, milliseconds(1000));
  EXPECT_THAT(message, ContainsRegex("^rank 1: no word from rank 2 for 0\\.[0-9]+ s, while"));
  EXPECT_THAT(message, HasSubstr("while waiting for 0SEND_F5 (step 3). Last heard: 0SEND_F4 (step "
                                 "3). Check that rank 2 is running, or raise --timeout."));
}

TEST_P(TransportContract, TakesAMessageThatIsThereAfterTheDeadlineToo) {
  const auto endpoints = GetParam().connect(1);
  endpoints[0]->send(RankId(0), message_of(name(0), 8));
  expect_same(endpoints[0]->receive(RankId(0), name(0), in(seconds(-1))), message_of(name(0), 8));
}

TEST_P(TransportContract, TakesAMessageThatCameLateAtTheNextReceive) {
  const auto endpoints = GetParam().connect(2);
  EXPECT_THROW((void)endpoints[1]->receive(RankId(0), name(0), in(milliseconds(5))),
               TransportError);
  endpoints[0]->send(RankId(1), message_of(name(0), 8));
  expect_same(endpoints[1]->receive(RankId(0), name(0), in(seconds(10))), message_of(name(0), 8));
}

TEST_P(TransportContract, WaitsWithoutEndUntilTheLastPointInTime) {
  const auto endpoints = GetParam().connect(2);
  run_ranks(2, [&](RankId rank) {
    if (rank == RankId(0)) {
      std::this_thread::sleep_for(milliseconds(30));
      endpoints[0]->send(RankId(1), message_of(name(0), 8));
    } else {
      expect_same(endpoints[1]->receive(RankId(0), name(0), Deadline::max()),
                  message_of(name(0), 8));
    }
  });
}

TEST_P(TransportContract, EndsEveryWaitByAnAbort) {
  const auto endpoints = GetParam().connect(4);
  const auto started = Clock::now();
  run_ranks(4, [&](RankId rank) {
    if (rank == RankId(3)) {
      std::this_thread::sleep_for(milliseconds(50));
      return endpoints[3]->abort("rank 3: out of data");
    }
    EXPECT_EQ(error_of<CanceledError>([&] {
                (void)endpoints[rank.index()]->receive(RankId(3), name(0), in(seconds(30)));
              }),
              "rank 3: out of data");
  });
  EXPECT_LT(Clock::now() - started, seconds(1));
}

TEST_P(TransportContract, EndsLaterCallsAfterAnAbort) {
  const auto endpoints = GetParam().connect(2);
  endpoints[0]->send(RankId(1), message_of(name(0), 8));
  for (const auto& endpoint : endpoints) EXPECT_NO_THROW(endpoint->throw_if_aborted());
  endpoints[1]->abort("first");
  endpoints[0]->abort("second");
  for (const auto& endpoint : endpoints) {
    const RankId other(1 - endpoint->rank().value);
    // Also where the message is there: a rank that goes on after the end helps nobody.
    EXPECT_EQ(
        error_of<CanceledError>([&] { (void)endpoint->receive(other, name(0), in(seconds(30))); }),
        "first");
    EXPECT_EQ(error_of<CanceledError>([&] { endpoint->send(other, message_of(name(9), 8)); }),
              "first");
    EXPECT_EQ(error_of<CanceledError>([&] { endpoint->throw_if_aborted(); }), "first");
  }
}

// An abort may come from any thread, such as one that watches for Ctrl-C.
TEST_P(TransportContract, MayBeAbortedFromAnotherThread) {
  const auto endpoints = GetParam().connect(1);
  std::thread watcher([&] {
    std::this_thread::sleep_for(milliseconds(30));
    endpoints[0]->abort("");
  });
  EXPECT_EQ(error_of<CanceledError>(
                [&] { (void)endpoints[0]->receive(RankId(0), name(0), in(seconds(30))); }),
            "");
  watcher.join();
}

// Every rank sends to every rank, and takes what comes in an order of its own.
TEST_P(TransportContract, KeepsManyChannelsApartUnderLoad) {
  constexpr int kRanks = 4;
  constexpr int kMessages = 500;
  const auto endpoints = GetParam().connect(kRanks);
  run_ranks(kRanks, [&](RankId rank) {
    Endpoint& endpoint = *endpoints[rank.index()];
    for (int k = 0; k < kMessages; ++k)
      for (int to = 0; to < kRanks; ++to) {
        Message message = message_of(name(k), 8);
        message.buffers[0].dtype = 100 * rank.value + to;
        endpoint.send(RankId(to), std::move(message));
      }
    // 7 and 500 have no common divisor, so this is every k once.
    for (int i = 0; i < kMessages; ++i)
      for (int from = kRanks; from-- > 0;) {
        const int k = (i * 7 + rank.value) % kMessages;
        const Message message = endpoint.receive(RankId(from), name(k), in(seconds(30)));
        EXPECT_EQ(message.name, name(k));
        EXPECT_EQ(message.buffers[0].dtype, 100 * from + rank.value);
      }
  });
}

}  // namespace
}  // namespace headrace::testing
