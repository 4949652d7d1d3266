// SPDX-License-Identifier: Apache-2.0
#include "headrace/config/parse.h"

#include "headrace/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace headrace {
namespace {

using ::testing::HasSubstr;

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

std::string parse_error(const std::string& toml) {
  return message_of([&] { static_cast<void>(parse_train_config(toml, "run.toml")); });
}

std::string override_error(const std::string& key, const std::string& value) {
  return message_of([&] { static_cast<void>(parse_train_config("", "run.toml", {{key, value}})); });
}

TEST(ParseTrainConfig, ReadsEveryKindOfValue) {
  const auto config = parse_train_config(R"(
name = "try"
seed = 9
[data]
text = ["a", "b"]
held_out = 0.25
[model]
tied_head = false
[pipeline]
cut = [3, 5]
timeout = "20s"
[optimizer]
learning_rate = 1e-4
)",
                                         "run.toml");
  EXPECT_EQ(config.name, "try");
  EXPECT_EQ(config.seed, 9u);
  EXPECT_EQ(config.data.text, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(config.data.held_out, 0.25);
  EXPECT_FALSE(config.model.tied_head);
  EXPECT_EQ(config.pipeline.cut, (std::vector<int>{3, 5}));
  EXPECT_EQ(config.pipeline.timeout, std::chrono::seconds(20));
  EXPECT_EQ(config.optimizer.learning_rate, 1e-4);
}

TEST(ParseTrainConfig, WritesAndReadsBackTheSame) {
  TrainConfig config;
  config.name = "quote \" and \\ backslash";
  config.pipeline.cut = {1, 2, 3};
  config.data.text = {"x y", "z"};
  config.optimizer.epsilon = 1e-12;
  config.optimizer.learning_rate = 1.0;
  EXPECT_EQ(parse_train_config(to_toml(config), "again"), config);
}

TEST(ParseTrainConfig, NamesFileLineColumnAndTheNearestKey) {
  EXPECT_EQ(parse_error("[pipeline]\nranks = 2\nmicro_batchs = 3\n"),
            "run.toml:3:1: unknown key \"pipeline.micro_batchs\"; did you mean "
            "\"pipeline.micro_batches\"?");
  EXPECT_THAT(parse_error("stepps = 3\n"), HasSubstr("did you mean \"steps\"?"));
}

TEST(ParseTrainConfig, RefusesWrongTypesWithTheirPlace) {
  EXPECT_EQ(parse_error("steps = \"many\"\n"),
            "run.toml:1:9: steps is 'many'; expected a whole number");
  EXPECT_EQ(parse_error("steps = 1.5\n"), "run.toml:1:9: steps is 1.5; expected a whole number");
  EXPECT_THAT(parse_error("steps = 99999999999\n"), HasSubstr("expected -2147483648 to"));
  EXPECT_THAT(parse_error("seed = -1\n"), HasSubstr("run.toml:1:8: seed is -1; expected 0 to"));
  EXPECT_THAT(parse_error("name = 3\n"), HasSubstr("expected text in quotes"));
  EXPECT_THAT(parse_error("pipeline = 3\n"), HasSubstr("pipeline is a table of keys"));
  EXPECT_THAT(parse_error("[optimizer]\nlearning_rate = nan\n"), HasSubstr("a finite number"));
  EXPECT_THAT(parse_error("[pipeline]\ntimeout = \"soon\"\n"), HasSubstr("is no time"));
}

TEST(ParseTrainConfig, RefusesDuplicatesAndMalformedTomlWithTheirPlace) {
  EXPECT_THAT(parse_error("steps = 1\nsteps = 2\n"), HasSubstr("run.toml:2:"));
  EXPECT_THAT(parse_error("steps = = 1\n"), HasSubstr("run.toml:1:"));
  EXPECT_THAT(parse_error(std::string("steps = 1\n\0", 11)), HasSubstr("run.toml:2:1"));
  EXPECT_THAT(parse_error("x = " + std::string(10000, '[')), HasSubstr("run.toml:1:"));
}

TEST(ParseTrainConfig, OverridesTakeValuesAndBareWords) {
  const auto config = parse_train_config("steps = 1\n", "run.toml",
                                         {{"steps", "7"},
                                          {"pipeline.schedule", "gpipe"},
                                          {"name", "12"},
                                          {"pipeline.cut", "[3,5]"},
                                          {"pipeline.timeout", "2s"},
                                          {"data.text", "some/folder"}});
  EXPECT_EQ(config.steps, 7);
  EXPECT_EQ(config.pipeline.schedule, "gpipe");
  EXPECT_EQ(config.name, "12");
  EXPECT_EQ(config.pipeline.cut, (std::vector<int>{3, 5}));
  EXPECT_EQ(config.pipeline.timeout, std::chrono::seconds(2));
  EXPECT_EQ(config.data.text, (std::vector<std::string>{"some/folder"}));
}

TEST(ParseTrainConfig, NamesAWrongOverride) {
  EXPECT_EQ(override_error("stps", "7"),
            "--set stps: unknown key \"stps\"; did you mean \"steps\"?");
  EXPECT_THAT(override_error("steps", "seven"), HasSubstr("--set steps: \"seven\" is no value"));
  EXPECT_THAT(override_error("steps", "1\nseed = 2"), HasSubstr("is no value"));
}

std::string check_error(const std::function<void(TrainConfig&)>& change) {
  TrainConfig config;
  config.data.text = {"x"};
  check(config);
  change(config);
  return message_of([&] { check(config); });
}

TEST(Check, NamesTheKeyTheValueAndWhatIsExpected) {
  EXPECT_EQ(check_error([](auto& c) { c.pipeline.ranks = 0; }),
            "pipeline.ranks is 0; expected 1 or more");
  EXPECT_EQ(check_error([](auto& c) { c.steps = -1; }), "steps is -1; expected 1 or more");
  EXPECT_THAT(check_error([](auto& c) { c.pipeline.micro_batches = 9; }),
              HasSubstr("pipeline.micro_batches is 9, but batch is 8"));
  EXPECT_THAT(check_error([](auto& c) { c.model.heads = 3; }), HasSubstr("heads must divide"));
  EXPECT_THAT(check_error([](auto& c) { c.model.kind = "gtp"; }),
              HasSubstr("did you mean \"gpt\"?"));
  EXPECT_THAT(check_error([](auto& c) { c.model.vocabulary = 100; }), HasSubstr("256 or more"));
  EXPECT_THAT(check_error([](auto& c) { c.optimizer.beta2 = 1.0; }), HasSubstr("less than 1"));
  EXPECT_THAT(check_error([](auto& c) { c.data.text = {}; }), HasSubstr("data.text is empty"));
  EXPECT_THAT(check_error([](auto& c) { c.name = "../up"; }), HasSubstr("can name a folder"));
  EXPECT_THAT(check_error([](auto& c) {
                c.pipeline.cut = {3, 0};
              }),
              HasSubstr("pipeline.cut is 0"));
}

// The page must not fall behind the table of keys.
TEST(ConfigPage, ListsEveryKeyWithItsDefault) {
  std::ifstream file(std::string(HEADRACE_SOURCE_DIR) + "/docs/config.md");
  std::ostringstream page;
  page << file.rdbuf();
  std::istringstream lines(to_toml(TrainConfig{}));
  std::string line;
  std::string table;
  while (std::getline(lines, line)) {
    if (line.empty()) continue;
    if (line.front() == '[') {
      table = line.substr(1, line.size() - 2) + ".";
      continue;
    }
    const auto equals = line.find(" = ");
    EXPECT_THAT(page.str(), HasSubstr("| `" + table + line.substr(0, equals) + "` | `" +
                                      line.substr(equals + 3) + "` |"));
  }
}

}  // namespace
}  // namespace headrace
