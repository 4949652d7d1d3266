// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>

namespace headrace {
namespace {

using test::run;
using test::Scratch;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ScheduleCommand, DrawsTheGrid) {
  const Scratch scratch;
  const auto outcome = run(scratch, "schedule 1f1b --ranks 3 --micro-batches 4");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out,
            "time     0  1  2  3  4  5  6  7  8  9  10 11\n"
            "rank 0   F0 F1 F2 .  .  B0 F3 B1 .  B2 .  B3\n"
            "rank 1   .  F0 F1 .  B0 F2 B1 F3 B2 .  B3 .\n"
            "rank 2   .  .  F0 B0 F1 B1 F2 B2 F3 B3 .  .\n"
            "\n"
            "1f1b: 3 ranks, 3 stages, 4 micro-batches, 16 messages; peak live 3 2 1\n");
}

TEST(ScheduleCommand, ConvertsBetweenTheForms) {
  const Scratch scratch;
  const std::string sizes = "schedule 1f1b --ranks 2 --micro-batches 2 ";
  EXPECT_EQ(run(scratch, sizes + "--format csv").out, "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
  EXPECT_EQ(run(scratch, sizes + "--format text -o a.schedule").code, 0);
  EXPECT_EQ(run(scratch, "schedule a.schedule --format csv --lowered").out,
            run(scratch, sizes + "--format csv --lowered").out);
  EXPECT_EQ(run(scratch, sizes + "--format csv -o a.csv").code, 0);
  EXPECT_EQ(run(scratch, "schedule a.csv --format csv").out, "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
}

TEST(ScheduleCommand, ListsTheMethods) {
  const Scratch scratch;
  const auto methods = nlohmann::json::parse(run(scratch, "schedule --list --json").out);
  EXPECT_EQ(methods[0]["name"], "naive");
  for (const auto& method : methods)
    for (const char* key : {"bubble", "peak", "weights", "messages", "limits", "source"})
      EXPECT_FALSE(method[key].get<std::string>().empty()) << method["name"] << " " << key;
  EXPECT_THAT(run(scratch, "schedule --list").out, HasSubstr("(p-1)/(m+p-1)"));
}

TEST(ScheduleCommand, UsesColorOnlyWhenAsked) {
  const Scratch scratch;
  const std::string command = "schedule 1f1b --ranks 2 --micro-batches 2";
  EXPECT_EQ(run(scratch, command).out.find('\x1b'), std::string::npos);
  EXPECT_NE(run(scratch, command + " --color always").out.find('\x1b'), std::string::npos);
}

// The summary table of the literature at p = 4, m = 8 and equal F, I, W of 1 us.
TEST(ScheduleCommand, ComparesAllMethodsSideBySide) {
  const Scratch scratch;
  const auto rows =
      nlohmann::json::parse(run(scratch,
                                "schedule --compare --ranks 4 --micro-batches 8 --json --slices 2 "
                                "--forward 12us --input-grad 12us --weight-grad 12us")
                                .out);
  std::map<std::string, std::pair<double, double>> expected{{"naive", {96, 0.75}},
                                                            {"gpipe", {33, 0.2727}},
                                                            {"1f1b", {33, 0.2727}},
                                                            {"bpipe", {33, 0.2727}},
                                                            {"seq1f1b", {28.5, 0.1579}},
                                                            {"interleaved-1f1b", {28.5, 0.1579}},
                                                            {"looped-bfs", {28.5, 0.1579}},
                                                            {"interleaved-zb", {25.5, 0.0588}},
                                                            {"zb-h1", {27, 0.1111}},
                                                            {"zb-2p", {27, 0}},
                                                            {"zb-h2", {27, 0}},
                                                            {"zb-v", {25.5, 0}},
                                                            {"v-half", {26.5, 0.0943}},
                                                            {"v-min", {29.5, 0.1864}},
                                                            {"hanayo", {33, 0.2727}},
                                                            {"chimera", {30, 0.2}},
                                                            {"dualpipe", {26, 0.0769}},
                                                            {"dualpipev", {27, 0.1111}}};
  for (const auto& row : rows) {
    const auto found = expected.find(row["method"]);
    if (found == expected.end()) continue;
    EXPECT_EQ(row["makespan_ns"].get<double>(), found->second.first * 12000) << row;
    EXPECT_NEAR(row["bubble_span"].get<double>(), found->second.second, 5e-5) << row;
    expected.erase(found);
  }
  EXPECT_TRUE(expected.empty());
  EXPECT_THAT(run(scratch, "schedule --compare --ranks 3 --micro-batches 4").out,
              ::testing::AllOf(HasSubstr("\nnot at these sizes:\n"),
                               HasSubstr("chimera: 3 ranks; it needs an even number")));
}

TEST(SimulateCommand, MakesAutomaticSchedulesForTheCosts) {
  const Scratch scratch;
  const std::string costs =
      "--ranks 4 --micro-batches 8 --forward 2us --input-grad 3us --weight-grad 1us "
      "--activation-bytes 10 --memory-limit ";
  // The first rank fills its memory; the last needs less.
  const auto peak = [&](const std::string& limit) {
    return nlohmann::json::parse(
        run(scratch, "simulate zb-2p --json " + costs + limit).out)["peak_live"][0];
  };
  EXPECT_EQ(peak("20"), 2);
  EXPECT_EQ(peak("39"), 3);
  EXPECT_EQ(peak("40"), 4);
  EXPECT_THAT(run(scratch, "simulate zb-2p " + costs + "5").err, HasSubstr("give 10 or more"));
}

TEST(SimulateCommand, GivesTheKeysAndValuesOfTheExample) {
  const Scratch scratch;
  const auto json = nlohmann::json::parse(
      run(scratch,
          "simulate 1f1b --ranks 4 --micro-batches 8 --forward 1us --input-grad 1us "
          "--weight-grad 1us --json")
          .out);
  EXPECT_EQ(json["makespan_ns"], 33000);
  EXPECT_EQ(json["span_ns"], 33000);
  EXPECT_DOUBLE_EQ(json["bubble"].get<double>(), 3.0 / 11.0);
  EXPECT_DOUBLE_EQ(json["bubble_span"].get<double>(), 3.0 / 11.0);
  EXPECT_EQ(json["peak_live"], (std::vector<int>{4, 3, 2, 1}));
  EXPECT_EQ(json["messages"], 48);
}

TEST(SimulateCommand, TakesAFileAndLatency) {
  const Scratch scratch;
  scratch.write("a.csv", "0F0,0B0\n1F0,1B0\n");
  const auto json = nlohmann::json::parse(
      run(scratch,
          "simulate a.csv --forward 1us --input-grad 1us --weight-grad 1us --latency 3us --json")
          .out);
  EXPECT_EQ(json["makespan_ns"], 12000);
}

TEST(VerifyCommand, ReadsStandardInputAndSaysOk) {
  const Scratch scratch;
  scratch.write("a.csv", "0F0,0B0\n1F0,1B0\n");
  const auto outcome = run(scratch, "verify a.csv");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out,
            "ok: csv, 2 ranks, 2 stages, 1 micro-batches, 4 actions, peak live 1 1, no deadlock\n");
}

// The bad inputs of the commands: one clear line, exit code 2 (or 1 for a finding), within a
// second, nothing written.
struct Bad {
  std::string arguments;
  int code;
  std::string message;
};

class BadInput : public ::testing::TestWithParam<Bad> {};

TEST_P(BadInput, IsOneClearMessage) {
  const Scratch scratch;
  const auto outcome = run(scratch, GetParam().arguments);
  EXPECT_EQ(outcome.code, GetParam().code) << outcome.err;
  EXPECT_THAT(outcome.err, StartsWith("headrace: "));
  EXPECT_THAT(outcome.err, HasSubstr(GetParam().message));
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_LT(outcome.seconds, 1.0);
  EXPECT_TRUE(scratch.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Commands, BadInput,
    ::testing::Values(
        Bad{"shedule", 2, "unknown command \"shedule\"; did you mean \"schedule\"?"},
        Bad{"schedule 1f1c --ranks 2 --micro-batches 2", 2, "did you mean \"1f1b\"?"},
        Bad{"schedule 1f1b", 2, "1f1b needs --ranks and --micro-batches"},
        Bad{"schedule", 2, "no schedule; name a method"},
        Bad{"schedule 1f1b --ranks 0 --micro-batches 2", 2, "1f1b: ranks is 0; expected 1 or more"},
        Bad{"schedule 1f1b --ranks 2 --micro-batches -3", 2, "micro-batches is -3"},
        Bad{"schedule 1f1b --ranks 2 --micro-batches 2 --waves 2", 2, "1f1b takes no waves"},
        Bad{"schedule naive --ranks 2 --micro-batches 2 --reverse", 2,
            "naive takes no reverse; it is an option of gpipe"},
        Bad{"schedule 1f1b --ranks 2 --micro-batches 2 --forward 1us", 2,
            "1f1b is not made for costs"},
        Bad{"simulate 1f1b --ranks 2 --micro-batches 2 --forward 9223372036s --input-grad 1s "
            "--weight-grad 1s",
            2, "do not fit in 63 bits"},
        Bad{"simulate zb-1p --ranks 2 --micro-batches 2 --forward 1us --input-grad 1us "
            "--weight-grad 1us "
            "--memory-limit 9",
            2, "--memory-limit says nothing without --activation-bytes"},
        Bad{"schedule 1f1b --ranks 100000 --micro-batches 100000", 2, "take fewer"},
        Bad{"schedule 1f1b --ranks 99999999999 --micro-batches 1", 2, "99999999999"},
        Bad{"schedule 1f1b --ranks 2 --micro-batches 2 --formt csv", 2,
            "did you mean \"--format\"?"},
        Bad{"schedule 1f1b --ranks 2 --micro-batches 2 --format grit", 2, "grit"},
        Bad{"schedule ./missing.csv", 3, "./missing.csv: cannot be read"},
        Bad{"verify -", 2, "-:1:1: is empty"},
        Bad{"simulate 1f1b --ranks 2 --micro-batches 2 --forward 1 --input-grad 1us --weight-grad "
            "1us",
            2, "time \"1\" is not a number with a unit"},
        Bad{"simulate 1f1b --ranks 2 --micro-batches 2 --forward 1us --input-grad 1us", 2,
            "--weight-grad"},
        Bad{"simulate 1f1b --ranks 2 --micro-batches 2 --forward 1us --input-grad 1us "
            "--weight-grad "
            "1us --bandwidth 0",
            2, "--bandwidth is 0"}));

struct BadFile {
  std::string content;
  int code;
  std::string message;
};

class BadScheduleFile : public ::testing::TestWithParam<BadFile> {};

TEST_P(BadScheduleFile, IsReportedByVerifyAndNotSimulated) {
  const Scratch scratch;
  scratch.write("a.schedule", GetParam().content);
  const auto outcome = run(scratch, "verify a.schedule");
  EXPECT_EQ(outcome.code, GetParam().code);
  EXPECT_THAT(outcome.out + outcome.err, HasSubstr(GetParam().message));
  EXPECT_EQ(
      run(scratch, "simulate a.schedule --forward 1us --input-grad 1us --weight-grad 1us").code,
      GetParam().code);
  EXPECT_EQ(run(scratch, "schedule a.schedule -o out").code, GetParam().code);
  EXPECT_FALSE(std::filesystem::exists(scratch.file("out")));
}

INSTANTIATE_TEST_SUITE_P(
    Files, BadScheduleFile,
    ::testing::Values(
        BadFile{"0F0,0F0,0B0\n1F0,1B0\n", 1, "a.schedule: duplicate: rank 0, action 1: 0F0"},
        BadFile{"0F0\n1F0,1B0\n", 1, "missing: rank 0: 0B0 is missing (or I and W). Add it."},
        BadFile{
            "0B0,0F0\n1F0,1B0\n", 1,
            "order: rank 0, action 0: 0B0 needs 0F0, which comes later on this rank (action 1)"},
        BadFile{"0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n", 1,
                "deadlock: rank 0 stands at 0B0 (action 1)"},
        BadFile{
            "headrace-schedule 1\nmicro-batches 1\nplace 0 1\nrank 0: 0F0 1F0 0B0\nrank 1: 1B0\n",
            1, "wrong-rank: rank 0, action 1: 1F0 belongs on rank 1"},
        BadFile{"0F0,0B0junk\n1F0,1B0\n", 2,
                "a.schedule:1:5: \"0B0junk\" has \"junk\" after its end"},
        BadFile{"0F0,0B99999999999999999999\n", 2, "a.schedule:1:5: micro-batch is"}));

// Every example of a --help page works as printed.
TEST(Help, ExamplesWork) {
  const Scratch scratch;
  for (const char* command : {"", "schedule", "verify", "simulate"}) {
    const auto help = run(scratch, std::string(command) + " --help");
    EXPECT_EQ(help.code, 0);
    const auto at = help.out.find("\n  headrace ");
    ASSERT_NE(at, std::string::npos) << command;
    std::string example = help.out.substr(at + 3, help.out.find('\n', at + 1) - at - 3);
    // A pipe between two commands needs the program's path on both sides.
    for (std::size_t p = 0; (p = example.find("headrace ", p)) != std::string::npos; p += 1) {
      const std::string path = std::string("'") + HEADRACE_PROGRAM + "' ";
      example.replace(p, 9, path);
      p += path.size();
    }
    EXPECT_EQ(std::system((example + " >/dev/null").c_str()), 0) << example;
  }
}

TEST(Errors, AreJsonWhereJsonWasAskedFor) {
  const Scratch scratch;
  const auto outcome = run(scratch, "schedule 1f1c --ranks 2 --micro-batches 2 --json");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["error"]["code"], "usage");
}

}  // namespace
}  // namespace headrace
