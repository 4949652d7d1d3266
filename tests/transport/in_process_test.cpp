// SPDX-License-Identifier: Apache-2.0
//
// What only the in-process transport promises; the rest is in tests/contract.
#include "headrace/transport/in_process.h"

#include "headrace/base/error.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace headrace {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Deadline in(std::chrono::nanoseconds time) {
  return std::chrono::steady_clock::now() + time;
}

MessageName name(int micro_batch) {
  return {MessageKind::Activation, 0, micro_batch, 0, 0};
}

Message message_with(std::shared_ptr<int> owner, const MessageName& label) {
  Buffer buffer;
  buffer.data = reinterpret_cast<std::byte*>(owner.get());
  buffer.size = sizeof(int);
  buffer.owner = std::move(owner);
  return {label, {std::move(buffer)}};
}

TEST(InProcess, HandsTheVeryBytesOver) {
  const auto endpoints = in_process_endpoints(2);
  const auto owner = std::make_shared<int>(5);
  endpoints[0]->send(RankId(1), message_with(owner, name(0)));
  EXPECT_EQ(owner.use_count(), 2);
  Message got = endpoints[1]->receive(RankId(0), name(0), in(seconds(1)));
  EXPECT_EQ(got.buffers[0].data, reinterpret_cast<std::byte*>(owner.get()));
  EXPECT_EQ(owner.use_count(), 2) << "the mailbox still holds the message";
  got = {};
  EXPECT_EQ(owner.use_count(), 1);
}

TEST(InProcess, FreesWhatNobodyTookWithTheLastEndpoint) {
  auto endpoints = in_process_endpoints(2);
  const auto owner = std::make_shared<int>(5);
  endpoints[0]->send(RankId(1), message_with(owner, name(0)));
  endpoints.clear();
  EXPECT_EQ(owner.use_count(), 1);
}

TEST(InProcess, ReceivesFromAnEndpointThatIsGone) {
  auto endpoints = in_process_endpoints(2);
  endpoints[0]->send(RankId(1), message_with(std::make_shared<int>(5), name(0)));
  endpoints[0].reset();
  EXPECT_EQ(endpoints[1]->receive(RankId(0), name(0), in(seconds(1))).buffers.size(), 1u);
}

TEST(InProcess, RefusesZeroRanks) {
  EXPECT_THROW((void)in_process_endpoints(0), UsageError);
}

// Rank 2 waits for rank 1, which waits for rank 0, which does something else.
TEST(InProcess, FollowsTheChainOfWaitsToTheSilentRank) {
  const auto endpoints = in_process_endpoints(3);
  std::thread middle([&] {
    EXPECT_THROW((void)endpoints[1]->receive(RankId(0), name(7), in(seconds(30))), CanceledError);
  });
  std::this_thread::sleep_for(milliseconds(50));
  try {
    (void)endpoints[2]->receive(RankId(1), name(6), in(milliseconds(100)));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const TransportError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("rank 2: no word from rank 1 for 0."), std::string::npos) << message;
    EXPECT_NE(message.find("Rank 1 itself waits for 0SEND_F7 (step 0) from rank 0. Check that rank "
                           "0 is running, or raise --timeout."),
              std::string::npos)
        << message;
  }
  endpoints[0]->abort("the test is over");
  middle.join();
}

}  // namespace
}  // namespace headrace
