// SPDX-License-Identifier: Apache-2.0
//
// One test per rule, with the whole message.
#include "headrace/schedule/verify.h"

#include "headrace/schedule/basic.h"
#include "headrace/schedule/lower.h"
#include "headrace/schedule/text_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> messages_of(const std::string& text) {
  std::vector<std::string> messages;
  for (const Violation& v : verify(parse_schedule(text, "test")))
    messages.push_back(std::string(rule_name(v.rule)) + ": " + v.message);
  return messages;
}

std::string ours(const std::string& lines) {
  return "headrace-schedule 1\n" + lines;
}

TEST(Verify, AcceptsForwardOnly) {
  EXPECT_THAT(messages_of("0F0,0F1\n1F0,1F1\n"), IsEmpty());
}

TEST(Verify, NamesAnUnknownStageMicroBatchAndSlice) {
  EXPECT_THAT(
      messages_of(ours("micro-batches 1\nplace 0\nrank 0: 0F0 0B0 1F0 0F1 0F0.1\n")),
      ElementsAre("unknown-action: rank 0, action 2: 1F0 names stage 1, but stages are 0 to 0.",
                  "unknown-action: rank 0, action 3: 0F1 names micro-batch 1, but "
                  "micro-batches are 0 to 0.",
                  "unknown-action: rank 0, action 4: 0F0 names slice 1, but slices are 0 to 0."));
}

TEST(Verify, NamesAnActionOnAForeignRank) {
  EXPECT_THAT(
      messages_of(ours("micro-batches 1\nplace 0 1\nrank 0: 0F0 1B0 0B0\nrank 1: 1F0\n")),
      ElementsAre("wrong-rank: rank 0, action 1: 1B0 belongs on rank 1, where stage 1 lives. "
                  "Move it there.",
                  "missing: rank 1: 1B0 is missing (or I and W). Add it."));
}

TEST(Verify, NamesWhatIsMissing) {
  EXPECT_THAT(messages_of("0F0,0I0\n1F0,1W0\n"),
              ElementsAre("missing: rank 0: 0W0 is missing, its I is there. Add it.",
                          "missing: rank 1: 1I0 is missing, its W is there. Add it."));
}

TEST(Verify, NamesADuplicateAndAWholeBackwardBesideAHalf) {
  EXPECT_THAT(
      messages_of("0F0,0F0,0B0,0W0\n"),
      ElementsAre("duplicate: rank 0, action 1: 0F0 stands here a second time; it is action 0 "
                  "already. Remove one.",
                  "duplicate: rank 0: 0W0 stands beside 0B0, which it includes. Remove one, or "
                  "write I and W instead of B."));
}

TEST(Verify, RejectsBackwardBeforeItsForward) {
  EXPECT_THAT(messages_of("0F0,0B1,0F1,0B0\n"),
              ElementsAre("order: rank 0, action 1: 0B1 needs 0F1, which comes later on this rank "
                          "(action 2). Put 0F1 before it."));
}

TEST(Verify, RejectsWeightGradBeforeInputGradAndASliceBeforeItsPredecessor) {
  EXPECT_THAT(messages_of("0F0,0W0,0I0\n"),
              ElementsAre(HasSubstr("0W0 needs 0I0, which comes later on this rank (action 2)")));
  EXPECT_THAT(
      messages_of(ours("micro-batches 1\nslices 2\nplace 0\nrank 0: 0F0.1 0F0.0 0B0.1 0B0.0\n")),
      ElementsAre(HasSubstr("0F0.1 needs 0F0.0, which comes later")));
  EXPECT_THAT(
      messages_of(ours("micro-batches 1\nslices 2\nplace 0\nrank 0: 0F0.0 0F0.1 0B0.0 0B0.1\n")),
      ElementsAre(HasSubstr("0B0.0 needs 0B0.1, which comes later")));
}

TEST(Verify, ReportsADeadlockOnceAsItsCycle) {
  EXPECT_THAT(
      messages_of("0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n"),
      ElementsAre("deadlock: deadlock: rank 0 stands at 0B0 (action 1) and waits for 1B0, which "
                  "comes only later on rank 1 (action 3); rank 1 stands at 1F1 (action 0) and "
                  "waits for 0F1, which comes only later on rank 0 (action 2). Move one of the "
                  "awaited actions before the action at which its rank stands."));
}

TEST(Verify, NamesAMissingAMisplacedAndAUselessMessage) {
  EXPECT_THAT(
      messages_of("0F0,0SEND_F0,0RECV_B0,0B0\n1F0,1RECV_F0,1B0\n"),
      ElementsAre("message: rank 1, action 1: 1RECV_F0 comes after 1F0, which reads it (action "
                  "0). Move it before.",
                  "message: rank 1: 1SEND_B0 is missing, so the other end waits forever. Add it."));
  EXPECT_THAT(
      messages_of(ours("micro-batches 1\nplace 0 0\nrank 0: 0F0 0SEND_F0 1F0 1B0 0B0\n")),
      ElementsAre("message: rank 0, action 1: 0SEND_F0 has no use: both stages live on this "
                  "rank. Remove it."));
  EXPECT_THAT(messages_of("0SEND_F0,0F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n"),
              ElementsAre(HasSubstr("0SEND_F0 sends what 0F0 makes only later (action 1)")));
}

// The first of two tables that PyTorch's checker passes and its runtime hangs on, made whole: both
// ranks send first on one pair of ranks.
TEST(Verify, ReportsTheCycleOfSendsThatWaitForEachOther) {
  const std::string table =
      "0F0,0SEND_F0,0F1,0SEND_F1,2RECV_F0,2F0,2SEND_F0,2RECV_F1,2F1,2SEND_F1,2RECV_B0,2B0,2SEND_B0,"
      "2RECV_B1,2B1,2SEND_B1,0RECV_B0,0B0,0RECV_B1,0B1\n"
      "1RECV_F0,1F0,1SEND_F0,1RECV_F1,1F1,1SEND_F1,3RECV_F0,3F0,3RECV_F1,3F1,3B0,3SEND_B0,3B1,"
      "3SEND_B1,"
      "1RECV_B0,1B0,1SEND_B0,1RECV_B1,1B1,1SEND_B1\n";
  EXPECT_THAT(
      messages_of(table),
      ElementsAre("blocking-sends: deadlock: rank 0 stands at 0SEND_F1 (action 3) and waits for "
                  "1RECV_F1, which comes only later on rank 1 (action 3); rank 1 stands at "
                  "1SEND_F0 (action 2) and waits for 2RECV_F0, which comes only later on rank 0 "
                  "(action 4). Move one of the awaited actions before the action at which its "
                  "rank stands."));
}

// The second one, made whole: the lists finish where sends are buffered, so nothing else is wrong.
TEST(Verify, ReportsTheSecondKnownCycle) {
  const std::string table =
      "0F0,0SEND_F0,0F1,0SEND_F1,2RECV_F0,2F0,2SEND_F0,2RECV_F1,2F1,2SEND_F1,0F2,0SEND_F2,2RECV_B0,"
      "2B0,2SEND_B0,2RECV_F2,2F2,2SEND_F2,2RECV_B1,2B1,2SEND_B1,2RECV_B2,2B2,2SEND_B2,0RECV_B0,0B0,"
      "0RECV_B1,0B1,0RECV_B2,0B2\n"
      "1RECV_F0,1F0,1RECV_F1,1SEND_F0,1F1,3RECV_F0,1SEND_F1,3F0,3B0,3RECV_F1,3SEND_B0,3F1,3B1,"
      "1RECV_F2,3SEND_B1,1F2,1SEND_F2,3RECV_F2,3F2,3B2,3SEND_B2,1RECV_B0,1B0,1SEND_B0,1RECV_B1,1B1,"
      "1SEND_B1,1RECV_B2,1B2,1SEND_B2\n";
  EXPECT_THAT(
      messages_of(table),
      ElementsAre("blocking-sends: deadlock: rank 0 stands at 0SEND_F2 (action 11) and waits for "
                  "1RECV_F2, which comes only later on rank 1 (action 13); rank 1 stands at "
                  "3SEND_B0 (action 10) and waits for 2RECV_B0, which comes only later on rank 0 "
                  "(action 12). Move one of the awaited actions before the action at which its "
                  "rank stands."));
}

// The same as the fragment that was reported; what it lacks is reported beside the cycle.
TEST(Verify, ReportsTheSecondKnownCycleEvenInAFragment) {
  const auto messages = messages_of(
      "2SEND_F1,0F2,0SEND_F2,2RECV_B0,2B0\n3RECV_F1,3SEND_B0,3F1,3B1,1RECV_F2,3SEND_B1,1F2\n");
  EXPECT_THAT(messages,
              ::testing::Contains(HasSubstr(
                  "blocking-sends: deadlock: rank 0 stands at 0SEND_F2 (action 2) and waits "
                  "for 1RECV_F2, which comes only later on rank 1 (action 4); rank 1 stands "
                  "at 3SEND_B0 (action 1) and waits for 2RECV_B0, which comes only later on "
                  "rank 0 (action 3).")));
}

TEST(Verify, RejectsAPairThatIsNoForwardAndBackward) {
  EXPECT_THAT(
      messages_of("(0F0;0F1)OVERLAP_F_B,0B0,0B1\n"),
      ElementsAre("pair: rank 0, action 0: the pair that begins with 0F0 goes on with 0F1. A "
                  "pair is one forward and one backward (B or I)."));
  EXPECT_THAT(
      messages_of("(0F0;0B0)OVERLAP_F_B\n"),
      ElementsAre("order: rank 0, action 1: 0B0 needs 0F0, the other half of its pair, but both "
                  "start together. Separate them."));
}

TEST(Verify, RejectsEvictionsThatDoNotComeBack) {
  const std::string head = "micro-batches 1\nplace 0 1\nhosts 1 0\nrank 1: 1F0 1B0\n";
  const auto of = [&](const std::string& rank_0) {
    return messages_of(
        ours("micro-batches 1\nplace 0 1\nhosts 1 0\nrank 0: " + rank_0 + "\nrank 1: 1F0 1B0\n"));
  };
  EXPECT_THAT(of("0F0 0EVICT0 0LOAD0 0B0"), IsEmpty());
  EXPECT_THAT(
      of("0F0 0EVICT0 0B0"),
      ElementsAre("eviction: rank 0, action 2: 0B0 cannot run: its activation is evicted."));
  EXPECT_THAT(
      of("0F0 0LOAD0 0B0"),
      ElementsAre("eviction: rank 0, action 1: 0LOAD0 cannot run: it was not evicted before."));
}

TEST(Verify, RejectsMoreWeightVersionsThanDeclared) {
  const auto of = [](const std::string& versions) {
    return messages_of(ours("micro-batches 2\nplace 0\nweights stash per 1\nversions " + versions +
                            "\nrank 0: 0F0 0F1 0B0 0UPDATE0 0B1 0UPDATE1\n"));
  };
  EXPECT_THAT(of("2"), IsEmpty());
  EXPECT_THAT(of("1"),
              ElementsAre(HasSubstr("stage 0 needs weight versions 0 to 1, which are 2, but it "
                                    "keeps 1")));
}

TEST(Verify, RejectsSizesThatDoNotFit) {
  EXPECT_THAT(
      messages_of(ours("micro-batches 1\nplace 0 3\nrank 0: 0F0 0B0\nrank 1: 1F0 1B0\n")),
      ElementsAre("shape: stage 1 is placed on rank 3, but there are 2 ranks; place it on rank 0 "
                  "to 1."));
  EXPECT_THAT(messages_of(ours("micro-batches 1\nplace 0\nplace 0\nflow 0\nrank 0: 0F0 0B0\n")),
              ElementsAre(HasSubstr("rank 0 holds copy 0 and copy 1 of stage 0")));
}

// Declared sizes may be absurd; the tables for them must not be made.
TEST(Verify, DoesNotTakeMemoryForSizesThatTheListsDoNotFill) {
  EXPECT_THAT(
      messages_of(ours("micro-batches 1000000\nslices 1000000\nplace 0\nrank 0: 0F0 0B0\n")),
      ElementsAre(HasSubstr("need as many forwards, but all lists together hold 2 actions")));
}

TEST(Verify, ListsTheFirstHundredViolationsAndCountsTheRest) {
  std::string row;
  for (int i = 0; i < 300; ++i) row += "0F0,";
  const auto messages = messages_of(row + "0B0\n");
  ASSERT_EQ(messages.size(), 101u);
  EXPECT_EQ(messages.back(), "duplicate: and 199 more violations after these.");
}

TEST(Lower, GivesListsThatFinishEvenWhenSendsBlock) {
  for (int p = 1; p <= 8; ++p)
    for (int m = 1; m <= 16; ++m)
      for (const Schedule& schedule : {naive(p, m), gpipe(p, m), one_f_one_b(p, m)}) {
        const Schedule lowered = lower(schedule);
        EXPECT_THAT(verify(lowered), IsEmpty()) << to_text(lowered);
        EXPECT_EQ(without_transfers(lowered), schedule);
      }
}

}  // namespace
}  // namespace headrace
