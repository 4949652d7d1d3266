// SPDX-License-Identifier: Apache-2.0
#include "headrace/cost/json.h"

#include "headrace/base/error.h"

#include <gtest/gtest.h>

#include <fstream>

namespace headrace {
namespace {

template <class T>
std::string error_of(T (*parse)(std::string_view, std::string_view), std::string_view json) {
  try {
    static_cast<void>(parse(json, "f.json"));
  } catch (const ParseError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

std::string costs_error(std::string_view json) {
  return error_of(parse_stage_costs, json);
}

// Two stages, of which the second says only what it must.
constexpr const char* kCosts = R"({
  "headrace_costs": 1,
  "stages": [
    {"forward_ns": 1000, "input_grad_ns": 900, "weight_grad_ns": 800,
     "activation_bytes": 4096, "freed_by_input_grad_bytes": 1024, "output_bytes": 512},
    {"forward_ns": 1100, "input_grad_ns": 950, "weight_grad_ns": 850}
  ],
  "pair_ns": 2500
}
)";

StageCosts example_costs() {
  StageCosts costs;
  costs.stages.resize(2);
  costs.stages[0].forward = Time(1000);
  costs.stages[0].input_grad = Time(900);
  costs.stages[0].weight_grad = Time(800);
  costs.stages[0].activation = Bytes(4096);
  costs.stages[0].freed_by_input_grad = Bytes(1024);
  costs.stages[0].output = Bytes(512);
  costs.stages[1].forward = Time(1100);
  costs.stages[1].input_grad = Time(950);
  costs.stages[1].weight_grad = Time(850);
  costs.pair = Time(2500);
  return costs;
}

TEST(StageCostsJson, ReadsTheExampleOfTheDocs) {
  EXPECT_EQ(parse_stage_costs(kCosts, "costs.json"), example_costs());
  std::ifstream file(std::string(HEADRACE_SOURCE_DIR) + "/docs/cost-model.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  EXPECT_NE(page.find(kCosts), std::string::npos);
}

TEST(StageCostsJson, ReadsBackToEqualCosts) {
  StageCosts costs = example_costs();
  EXPECT_EQ(parse_stage_costs(to_json(costs), "f.json"), costs);
  costs.pair.reset();
  costs.per_micro_batch = {{{Time(1), Time(2), Time(3)}, {Time(4), Time(5), Time(6)}}, {}};
  StageCost& all = costs.stages[1];
  std::int64_t next = INT64_MAX;
  for (Time* time : {&all.forward, &all.input_grad, &all.weight_grad, &all.recompute, &all.update})
    *time = Time(next--);
  for (Bytes* bytes : {&all.weights, &all.gradients, &all.optimizer, &all.activation,
                       &all.freed_by_input_grad, &all.working, &all.output})
    *bytes = Bytes(next--);
  EXPECT_EQ(parse_stage_costs(to_json(costs), "f.json"), costs);
  EXPECT_EQ(parse_stage_costs(to_json(StageCosts{}), "f.json"), StageCosts{});
}

TEST(ModelProfileJson, HasTheFormOfTheDocs) {
  ModelProfile profile;
  profile.name = "tiny";
  LayerProfile& layer = profile.layers.emplace_back();
  layer.name = "embedding";
  layer.forward = Time(10);
  layer.input_grad = Time(20);
  layer.weight_grad = Time(30);
  layer.flops = 40;
  layer.parameters = 50;
  layer.weights = Bytes(200);
  layer.activation = Bytes(60);
  layer.output = Bytes(70);
  constexpr const char* kProfile = R"({
  "headrace_profile": 1,
  "name": "tiny",
  "layers": [
    {
      "name": "embedding",
      "forward_ns": 10,
      "input_grad_ns": 20,
      "weight_grad_ns": 30,
      "flops": 40,
      "parameters": 50,
      "weights_bytes": 200,
      "activation_bytes": 60,
      "output_bytes": 70
    }
  ]
}
)";
  EXPECT_EQ(to_json(profile), kProfile);
  EXPECT_EQ(parse_model_profile(kProfile, "f.json"), profile);
}

TEST(CostJson, NamesTheValueThatIsWrongAndWhatIsExpected) {
  const auto with_stage = [](const std::string& stage) {
    return costs_error(R"({"headrace_costs": 1, "stages": [)" + stage + "]}");
  };
  const std::string times = R"("forward_ns": 1, "input_grad_ns": 2, "weight_grad_ns": 3)";
  EXPECT_EQ(with_stage(R"({"forward_ns": "3ms", "input_grad_ns": 2, "weight_grad_ns": 3})"),
            R"(f.json: stages[0].forward_ns is "3ms"; expected whole nanoseconds, 0 or more)");
  EXPECT_EQ(with_stage("{" + times + R"(, "update_ns": 1.5})"),
            "f.json: stages[0].update_ns is 1.5; expected whole nanoseconds, 0 or more");
  EXPECT_EQ(with_stage("{" + times + R"(, "output_bytes": -1})"),
            "f.json: stages[0].output_bytes is -1; expected whole bytes, 0 or more");
  EXPECT_EQ(with_stage("{" + times + R"(, "output_bytes": 9223372036854775808})"),
            "f.json: stages[0].output_bytes is 9223372036854775808; expected whole bytes, 0 or "
            "more");
  EXPECT_EQ(with_stage(R"({"forward_ns": 1, "input_grad_ns": 2})"),
            "f.json: stages[0].weight_grad_ns is missing");
  EXPECT_EQ(with_stage("{" + times + R"(, "output_byte": 1})"),
            "f.json: stages[0]: unknown key \"output_byte\"; did you mean \"output_bytes\"?");
  EXPECT_EQ(with_stage("7"), "f.json: stages[0] is 7; expected an object, { ... }");
  EXPECT_EQ(with_stage("{" + times + R"(, "activation_bytes": 5, "freed_by_input_grad_bytes": 6})"),
            "f.json: stages[0].freed_by_input_grad_bytes is 6; expected a part of "
            "activation_bytes, 5");
}

TEST(CostJson, RefusesWhatIsNotOfTheForm) {
  EXPECT_EQ(costs_error("[]"), "f.json: the whole text is a list; expected an object, { ... }");
  EXPECT_EQ(costs_error("{}"), "f.json: headrace_costs is missing");
  EXPECT_EQ(costs_error(R"({"headrace_costs": 2, "stages": []})"),
            "f.json: headrace_costs is 2; expected 1, the only version there is");
  EXPECT_EQ(costs_error(R"({"headrace_costs": 1})"), "f.json: stages is missing");
  EXPECT_EQ(costs_error(R"({"headrace_costs": 1, "stages": {}})"),
            "f.json: stages is an object; expected a list, [ ... ]");
  EXPECT_EQ(costs_error(R"({"headrace_costs": 1, "stages": [], "per_micro_batch": [[]]})"),
            "f.json: per_micro_batch has 1 lists, but there are 0 stages; write one list for each "
            "stage");
  EXPECT_EQ(error_of(parse_machine_json, R"({"headrace_machine": 1, "ranks": []})"),
            "f.json: ranks is a list; expected one rank or more");
  EXPECT_EQ(
      error_of(parse_machine_json,
               R"({"headrace_machine": 1, "ranks": [{}, {}], "links": [{"from": 0, "to": 2}]})"),
      "f.json: links[0].to is 2; expected a rank from 0 to 1");
  EXPECT_EQ(error_of(parse_machine_json,
                     R"({"headrace_machine": 1, "ranks": [{}, {}], "links": [{"from": 0, "to": 1},
                   {"from": 0, "to": 1}]})"),
            "f.json: links name the direction from 0 to 1 twice; leave one");
}

TEST(CostJson, NamesThePlaceOfMalformedText) {
  EXPECT_EQ(costs_error("{\n  \"headrace_costs\": 1,\n  oops\n}").substr(0, 13), "f.json:3:3: s");
  EXPECT_TRUE(costs_error("").starts_with("f.json:1:1: ")) << costs_error("");
  EXPECT_TRUE(costs_error("{\"headrace_costs\": 1e999}").starts_with("f.json: "));
  EXPECT_EQ(costs_error(R"({"headrace_costs": 1, "stages": [], "stages": []})"),
            "f.json: key \"stages\" stands twice in one object; leave one of them");
}

// A hundred thousand brackets, which a parser that calls itself would not survive.
TEST(CostJson, SurvivesDeepNesting) {
  EXPECT_TRUE(costs_error(std::string(100'000, '[')).starts_with("f.json:1:100001: "));
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_EQ(costs_error(deep), "f.json: the whole text is a list; expected an object, { ... }");
}

}  // namespace
}  // namespace headrace
