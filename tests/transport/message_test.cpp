// SPDX-License-Identifier: Apache-2.0
#include "headrace/transport/message.h"

#include "headrace/transport/wait_words.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr MessageName kActivation{MessageKind::Activation, 2, 5, 0, 3};
constexpr MessageName kGradient{MessageKind::Gradient, 4, 1, 2, 0};
constexpr MessageName kControl{MessageKind::Control, 1, 0, 0, 9};

TEST(MessageName, HasWordsForEachKind) {
  EXPECT_EQ(to_text(kActivation), "output of stage 2 for micro-batch 5 (step 3)");
  EXPECT_EQ(to_text(kGradient), "input gradient of stage 4 for micro-batch 1, slice 2 (step 0)");
  EXPECT_EQ(to_text(kControl), "control message 1 (step 9)");
}

TEST(MessageName, HasTheTokenOfItsSend) {
  EXPECT_EQ(send_token(kActivation), "2SEND_F5");
  EXPECT_EQ(send_token(kGradient), "4SEND_B1.2");
  EXPECT_EQ(send_token(kControl), "control message 1");
}

TEST(Message, HasTheSizeOfAllItsBuffers) {
  Message message;
  EXPECT_EQ(size_of(message), 0u);
  message.buffers.resize(2);
  message.buffers[0].size = 10;
  message.buffers[1].size = 3;
  EXPECT_EQ(size_of(message), 13u);
}

TEST(LateMessage, NamesASilentRank) {
  const LateMessage late{{RankId(3), RankId(2), kActivation},
                         seconds(5),
                         MessageName{MessageKind::Activation, 2, 4, 0, 3},
                         seconds(7),
                         {}};
  EXPECT_EQ(to_text(late),
            "rank 3: no word from rank 2 for 5 s, while waiting for 2SEND_F5 (step 3). Last heard: "
            "2SEND_F4 (step 3). Check that rank 2 is running, or raise --timeout.");
}

TEST(LateMessage, DoesNotCallARankSilentThatSentSomethingElse) {
  const LateMessage late{
      {RankId(3), RankId(2), kActivation}, milliseconds(5250), kControl, seconds(1), {}};
  EXPECT_EQ(to_text(late),
            "rank 3: waited 5.25 s for 2SEND_F5 (step 3) from rank 2. Last heard, 1 s ago: control "
            "message 1 (step 9). Check that rank 2 is running, or raise --timeout.");
}

TEST(LateMessage, PointsAtTheRankAtTheEndOfTheChain) {
  const LateMessage late{{RankId(3), RankId(2), kActivation},
                         seconds(5),
                         {},
                         {},
                         {{RankId(2), RankId(1), {MessageKind::Activation, 1, 5, 0, 3}},
                          {RankId(1), RankId(0), {MessageKind::Activation, 0, 5, 0, 3}}}};
  EXPECT_EQ(to_text(late),
            "rank 3: no word from rank 2 for 5 s, while waiting for 2SEND_F5 (step 3). Last heard: "
            "nothing so far. Rank 2 itself waits for 1SEND_F5 (step 3) from rank 1. Rank 1 itself "
            "waits for 0SEND_F5 (step 3) from rank 0. Check that rank 0 is running, or raise "
            "--timeout.");
}

TEST(LateMessage, SaysWhenRanksWaitForEachOther) {
  const LateMessage late{
      {RankId(1), RankId(0), kActivation}, seconds(5), {}, {}, {{RankId(0), RankId(1), kGradient}}};
  EXPECT_EQ(
      to_text(late),
      "rank 1: no word from rank 0 for 5 s, while waiting for 2SEND_F5 (step 3). Last heard: "
      "nothing so far. Rank 0 itself waits for 4SEND_B1.2 (step 0) from rank 1. They wait for "
      "each other: run `headrace verify` on the schedule of this run, and report this message "
      "if it finds nothing.");
}

}  // namespace
}  // namespace headrace
