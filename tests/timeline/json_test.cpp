// SPDX-License-Identifier: Apache-2.0
#include "headrace/timeline/json.h"

#include "headrace/base/error.h"

#include <gtest/gtest.h>

#include <random>

namespace headrace {
namespace {

Action action(ActionKind kind, int stage, int micro_batch, bool overlaps_next = false) {
  return {kind, overlaps_next, 0, StageId(stage), MicroBatchId(micro_batch)};
}

// Two ranks; the second runs a pair, and an update that belongs to no micro-batch.
Timeline example() {
  Timeline timeline;
  timeline.name = "by-hand";
  timeline.ranks.resize(2);
  timeline.ranks[0].actions = {{action(ActionKind::Forward, 0, 0), Time(0), Time(10)}};
  timeline.ranks[0].memory = {{Time(0), Bytes(64)}, {Time(10), Bytes(32)}};
  timeline.ranks[0].peak_live = 1;
  timeline.ranks[1].actions = {{action(ActionKind::Forward, 1, 1, true), Time(13), Time(30)},
                               {action(ActionKind::Backward, 1, 0), Time(13), Time(30)},
                               {action(ActionKind::Update, 1, -1), Time(30), Time(31)}};
  timeline.messages = {
      {action(ActionKind::SendForward, 0, 0), RankId(0), RankId(1), Time(10), Time(13), Bytes(8)}};
  return timeline;
}

constexpr const char* kExample =
    R"({"headrace_timeline":1,"name":"by-hand","ranks":[)"
    R"({"actions":[["0F0",0,10]],"memory":[[0,64],[10,32]],"peak_live":1},)"
    R"({"actions":[["1F1+",13,30],["1B0",13,30],["1UPDATE",30,31]],"memory":[],"peak_live":0}],)"
    R"("messages":[["0SEND_F0",0,1,10,13,8]]})";

TEST(TimelineJson, HasTheFormOfTheHeader) {
  EXPECT_EQ(to_json(example()), kExample);
}

TEST(TimelineJson, ReadsBackToAnEqualTimeline) {
  EXPECT_EQ(parse_timeline(kExample, "t.json"), example());
  EXPECT_EQ(parse_timeline(to_json(Timeline{}), "t.json"), Timeline{});
}

TEST(TimelineJson, LosesNothingOfRandomTimelines) {
  constexpr unsigned kSeed = 301;
  std::printf("seed %u\n", kSeed);
  std::mt19937 random(kSeed);
  const auto number = [&] { return static_cast<std::int64_t>(random()) * 4096; };
  for (int i = 0; i < 300; ++i) {
    Timeline timeline;
    timeline.ranks.resize(1 + random() % 4);
    for (RankTimeline& rank : timeline.ranks) {
      for (unsigned n = random() % 10; n > 0; --n) {
        Action a = action(static_cast<ActionKind>(random() % kActionKinds),
                          static_cast<int>(random() % 20), static_cast<int>(random() % 20));
        a.slice = static_cast<std::int16_t>(random() % 3);
        a.overlaps_next = random() % 4 == 0;
        rank.actions.push_back({a, Time(number() - number()), Time(number())});
        rank.memory.push_back({Time(number()), Bytes(number())});
      }
      rank.peak_live = static_cast<int>(random() % 100);
    }
    EXPECT_EQ(parse_timeline(to_json(timeline), "t.json"), timeline) << "case " << i;
  }
}

std::string error_of(std::string json) {
  try {
    static_cast<void>(parse_timeline(json, "t.json"));
  } catch (const ParseError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// The example with its first `from` replaced.
std::string error_with(const std::string& from, const std::string& to) {
  std::string json = kExample;
  json.replace(json.find(from), from.size(), to);
  return error_of(json);
}

TEST(TimelineJson, SaysWhereAValueIsWrong) {
  EXPECT_EQ(error_with("\"0F0\"", "\"0X0\""),
            R"(t.json: ranks[0].actions[0] is "0X0"; expected an action such as "2F5")");
  EXPECT_EQ(error_with("\"1B0\",13", "\"1B0\",13.5"),
            "t.json: ranks[1].actions[1] is 13.5; expected a whole number from "
            "-9223372036854775808 to 9223372036854775807");
  EXPECT_EQ(error_with("[10,32]", "[10]"),
            "t.json: ranks[0].memory[1] is [10]; expected [time, bytes]");
  EXPECT_EQ(error_with("0,1,10,13", "0,2,10,13"),
            "t.json: messages[0] is 2; expected a whole number from 0 to 1");
  EXPECT_EQ(error_with("peak_live", "peak_life"), "t.json: ranks[0]: \"peak_live\" is missing");
  EXPECT_EQ(error_with("\"memory\"", "\"memori\":0,\"memory\""),
            "t.json: ranks[0]: unknown key \"memori\"; did you mean \"memory\"?");
  EXPECT_EQ(error_with("timeline\":1", "timeline\":2"),
            "t.json: headrace_timeline is 2; expected 1, the only version there is");
  EXPECT_EQ(error_of("[]"), "t.json: the whole text is []; expected an object, { ... }");
  EXPECT_NE(error_of("{\"name\":").find("line 1, column 9"), std::string::npos);
}

TEST(TimelineJson, RefusesActionsThatOnlyLookLikeSome) {
  for (const char* word : {"", "F", "F0", "0F", "0F-1", "0F0.", "0F0.99999", "0F0x", "0F0++",
                           "99999999999F0", "0RECOMPUTE", "0f0", "+"})
    EXPECT_EQ(error_with("0F0", word), std::string("t.json: ranks[0].actions[0] is \"") + word +
                                           "\"; expected an action such as \"2F5\"");
}

}  // namespace
}  // namespace headrace
