// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <sstream>

namespace headrace {
namespace {

using test::contents_of;
using test::run;
using test::Scratch;
using ::testing::HasSubstr;

constexpr const char* kConfig = R"(name = "small"
steps = 4
batch = 6
[data]
text = ["text"]
sequence = 16
[model]
layers = 2
d_model = 16
heads = 2
[pipeline]
ranks = 2
micro_batches = 3
[optimizer]
clip_norm = 1.0
[eval]
batches = 1
)";

void write_inputs(const Scratch& scratch) {
  std::string text;
  for (int i = 0; i < 300; ++i)
    text += "the wheel turns as the water runs " + std::to_string(i % 17);
  scratch.write("text", text);
  scratch.write("run.toml", kConfig);
}

TEST(TrainCommand, PrintsTheSummaryAndFillsTheRunsFolder) {
  const Scratch scratch;
  write_inputs(scratch);
  const auto outcome = run(scratch, "train run.toml --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["loss"].size(), 4u);
  EXPECT_EQ(json["peak_bytes"].size(), 2u);
  EXPECT_EQ(json["peak_live"], (std::vector<int>{2, 1}));
  EXPECT_EQ(json["peak_live"], json["peak_live_schedule"]);
  EXPECT_EQ(json["digest"].get<std::string>().size(), 64u);
  EXPECT_GT(json["tokens_per_s"].get<double>(), 0);
  EXPECT_GT(json["unigram_entropy"].get<double>(), json["bigram_entropy"].get<double>());
  for (const char* key : {"eval_loss", "bubble_measured", "bubble_predicted"})
    EXPECT_TRUE(json[key].is_number()) << key;
  const std::string folder = scratch.file("runs/small");
  const std::string metrics = contents_of(folder + "/metrics.jsonl");
  EXPECT_EQ(std::count(metrics.begin(), metrics.end(), '\n'), 4);
  for (const char* name : {"config.toml", "model.safetensors", "timeline.json", "summary.json"})
    EXPECT_TRUE(std::filesystem::exists(folder + "/" + name)) << name;
  // The configuration as written runs the same run again.
  const auto again = run(scratch, "train runs/small/config.toml --json --run again");
  EXPECT_EQ(nlohmann::json::parse(again.out)["digest"], json["digest"]);
}

TEST(TrainCommand, GivesOneDigestForAllRankCountsAndSchedules) {
  const Scratch scratch;
  write_inputs(scratch);
  std::string first;
  for (const char* options : {"--ranks 1", "--ranks 3 --schedule gpipe", "--ranks 2 --cut 1,5",
                              "--ranks 4 --schedule naive --set eval.every=2"}) {
    const auto outcome = run(scratch, std::string("train run.toml --json ") + options);
    const auto digest = nlohmann::json::parse(outcome.out)["digest"].get<std::string>();
    if (first.empty()) first = digest;
    EXPECT_EQ(digest, first) << options;
  }
  EXPECT_NE(nlohmann::json::parse(run(scratch, "train run.toml --json --seed 2").out)["digest"],
            first);
}

// Two runs in one folder once mixed their files and both ended well.
TEST(TrainCommand, RefusesAFolderInWhichAnotherRunIsWriting) {
  const Scratch scratch;
  write_inputs(scratch);
  ASSERT_EQ(run(scratch, "train run.toml --json --run r").code, 0);
  const std::string held = "cd '" + scratch.path() + "' && flock r/lock sh -c \"'" +
                           HEADRACE_PROGRAM + "' train run.toml --json --run r\" 2>err >out";
  EXPECT_EQ(WEXITSTATUS(std::system(held.c_str())), 2);
  EXPECT_THAT(contents_of(scratch.file("err")), HasSubstr("r: another run is writing there"));
  EXPECT_EQ(run(scratch, "train run.toml --json --run r").code, 0);
}

TEST(TrainCommand, RunsAScheduleFile) {
  const Scratch scratch;
  write_inputs(scratch);
  const auto plain = nlohmann::json::parse(run(scratch, "train run.toml --json").out);
  ASSERT_EQ(
      run(scratch, "schedule 1f1b --ranks 2 --micro-batches 3 --lowered --format csv -o a.csv")
          .code,
      0);
  const auto piped = run(scratch, "train run.toml --json --schedule a.csv");
  ASSERT_EQ(piped.code, 0) << piped.err;
  EXPECT_EQ(nlohmann::json::parse(piped.out)["digest"], plain["digest"]);
}

TEST(TrainCommand, EndsAtTheStepsEndOnCtrlCWithEverythingSaved) {
  const Scratch scratch;
  write_inputs(scratch);
  const std::string command = "cd '" + scratch.path() + "' && exec timeout -s INT 2 '" +
                              HEADRACE_PROGRAM +
                              "' train run.toml --steps 1000000 --json --run r > out 2> err";
  // `timeout` says 124 when it had to send the signal; --preserve-status would give the program's.
  std::string preserving = command;
  preserving.replace(preserving.find("timeout -s"), 10, "timeout --preserve-status -s");
  EXPECT_EQ(WEXITSTATUS(std::system(preserving.c_str())), 0);
  const auto json = nlohmann::json::parse(contents_of(scratch.file("out")));
  EXPECT_EQ(json["stopped"], true);
  EXPECT_GT(json["loss"].size(), 0u);
  EXPECT_TRUE(std::filesystem::exists(scratch.file("r/model.safetensors")));
}

TEST(TrainCommand, EndsAtTheStepsEndOnSigterm) {
  const Scratch scratch;
  write_inputs(scratch);
  const std::string command = "cd '" + scratch.path() +
                              "' && exec timeout --preserve-status -s TERM 1 '" + HEADRACE_PROGRAM +
                              "' train run.toml --steps 1000000 --json --run r > out 2> err";
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 0);
  EXPECT_EQ(nlohmann::json::parse(contents_of(scratch.file("out")))["stopped"], true);
  EXPECT_TRUE(std::filesystem::exists(scratch.file("r/summary.json")));
}

TEST(TrainCommand, PrintsPlainLinesWhereThereIsNoTerminal) {
  const Scratch scratch;
  write_inputs(scratch);
  const std::string out = run(scratch, "train run.toml").out;
  EXPECT_EQ(out.substr(0, 15), "step 1/4  loss ");
  EXPECT_THAT(out, HasSubstr("step 4/4  loss "));
  EXPECT_THAT(out, HasSubstr("nats per byte; entropy of that text: unigram "));
  EXPECT_THAT(out, HasSubstr("last step       1f1b, 2 stages of "));
  EXPECT_THAT(out, HasSubstr("rank 1  "));
  EXPECT_THAT(out, HasSubstr("saved in runs/small\n"));
  EXPECT_EQ(out.find_first_of("\r\x1b"), std::string::npos);
  const std::string quiet = run(scratch, "train run.toml --quiet").out;
  EXPECT_EQ(quiet.find("step 1/4"), std::string::npos);
  EXPECT_THAT(quiet, HasSubstr("held-out loss "));
}

TEST(TrainCommand, WritesALineOfMetricsPerStepAndReplacesAnEarlierRun) {
  const Scratch scratch;
  write_inputs(scratch);
  ASSERT_EQ(run(scratch, "train run.toml --quiet --steps 9").code, 0);
  const auto json =
      nlohmann::json::parse(run(scratch, "train run.toml --json --steps 3 --set eval.every=2").out);
  std::istringstream metrics(contents_of(scratch.file("runs/small/metrics.jsonl")));
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(metrics, line);) lines.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(lines.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(lines[i]["step"], i);
    EXPECT_EQ(lines[i]["loss"], json["loss"][i]);
    EXPECT_EQ(lines[i]["grad_norm"], json["grad_norm"][i]);
    EXPECT_EQ(lines[i].contains("eval_loss"), i >= 1) << i;  // after two steps, and at the end
    for (const char* key : {"learning_rate", "tokens_per_s", "bubble", "step_ns"})
      EXPECT_TRUE(lines[i][key].is_number()) << key;
  }
  EXPECT_EQ(lines[2]["eval_loss"], json["eval_loss"]);
}

TEST(TrainCommand, SavesNoWeightsWhenTheLossIsNotFinite) {
  const Scratch scratch;
  write_inputs(scratch);
  const auto outcome = run(scratch,
                           "train run.toml --quiet --steps 50 --set optimizer.clip_norm=0.0 "
                           "--set optimizer.learning_rate=1e30");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("headrace: rank 1, action "));
  EXPECT_THAT(outcome.err, HasSubstr("lower the learning rate"));
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(scratch.file("runs/small/model.safetensors")));
}

struct Bad {
  std::string arguments;
  int code;
  std::string message;
};

class BadTraining : public ::testing::TestWithParam<Bad> {};

TEST_P(BadTraining, IsOneClearMessageWithinASecondAndNothingIsWritten) {
  const Scratch scratch;
  write_inputs(scratch);
  scratch.write("empty", "");
  scratch.write("twice.toml", "steps = 1\nsteps = 2\n");
  scratch.write("bad.csv", "0F0,0B0,0F1,0B1,0F2,0B2\n1F2,1B2,1F1,1B1,1F0,1B0\n");
  std::filesystem::create_directories(scratch.file("other/files"));
  const auto outcome = run(scratch, "train " + GetParam().arguments);
  EXPECT_EQ(outcome.code, GetParam().code) << outcome.err;
  EXPECT_THAT(outcome.out + outcome.err, HasSubstr(GetParam().message));
  EXPECT_LT(outcome.seconds, 1.0);
  EXPECT_FALSE(std::filesystem::exists(scratch.file("runs")));
}

INSTANTIATE_TEST_SUITE_P(
    Configurations, BadTraining,
    ::testing::Values(
        Bad{"missing.toml", 3, "missing.toml: cannot be read: No such file"},
        Bad{"twice.toml", 2, "twice.toml:2:"},
        Bad{"run.toml --ranks 0", 2, "pipeline.ranks is 0; expected 1 or more"},
        Bad{"run.toml --ranks -2", 2, "pipeline.ranks is -2"},
        Bad{"run.toml --steps 0", 2, "steps is 0"},
        Bad{"run.toml --threads-per-rank 100000", 2, "expected at most 1024"},
        Bad{"other", 3, "other: is a folder; name a TOML file"},
        Bad{"run.toml --timeout soon", 2, "pipeline.timeout is no time"},
        Bad{"run.toml --micro-batches 7", 2, "pipeline.micro_batches is 7, but batch is 6"},
        Bad{"run.toml --ranks 7", 2, "7 stages but only 6 layers"},
        Bad{"run.toml --cut 3,2", 2, "cut: 3 + 2 = 5 layers, but there are 6"},
        Bad{"run.toml --cut 6", 2, "pipeline.cut names 1 stages, but the schedule has 2"},
        Bad{"run.toml --schedule 1f1", 2, "unknown schedule \"1f1\"; did you mean \"1f1b\"?"},
        Bad{"run.toml --schedule none.csv", 3, "none.csv: cannot be read"},
        Bad{"run.toml --schedule bad.csv", 1, "deadlock: rank 0 stands at 0B0"},
        Bad{"run.toml --set pipeline.rank=2", 2, "did you mean \"pipeline.ranks\"?"},
        Bad{"run.toml --set steps", 2, "expected key=value"},
        Bad{"run.toml --set data.text=[]", 2, "data.text is empty"},
        Bad{"run.toml --set data.text=nowhere", 3, "nowhere: no such file or folder"},
        Bad{"run.toml --set data.text=empty", 2, "there is no text in empty"},
        Bad{"run.toml --set data.sequence=1000000", 2, "each part needs 1000001 or more"},
        Bad{"run.toml --set model.heads=3", 2, "heads must divide"},
        Bad{"run.toml --set model.d_model=1000000 --set model.layers=10000", 2,
            "take a smaller model, or more micro-batches"},
        Bad{"run.toml --batch 1000000 --set model.d_model=65536", 2, "GiB at the least"},
        Bad{"run.toml --set model.d_model=2000000000", 2, "expected 1048576 or less"},
        Bad{"run.toml --schedule chimera --micro-batches 2", 2,
            "keeps 2 copies of each stage, which training does not run"},
        Bad{"run.toml --schedule forward-only", 2, "has forwards only"},
        Bad{"run.toml --run other", 2, "other: holds files that are not of a run"},
        Bad{"run.toml --run text", 2, "text: is a file"}, Bad{"", 2, "config is required"}));

}  // namespace
}  // namespace headrace
