// SPDX-License-Identifier: Apache-2.0
#include "headrace/runtime/optimizer.h"

#include "headrace/runtime/predict.h"
#include "headrace/schedule/basic.h"
#include "headrace/simulate/simulate.h"
#include "headrace/timeline/metrics.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace headrace {
namespace {

TEST(LearningRate, WarmsUpLinearlyAndFallsAlongACosine) {
  OptimizerConfig config;
  config.learning_rate = 1.0;
  config.min_learning_rate = 0.1;
  config.warmup_steps = 4;
  EXPECT_DOUBLE_EQ(learning_rate_at(config, 0, 104), 0.25);
  EXPECT_DOUBLE_EQ(learning_rate_at(config, 3, 104), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate_at(config, 4, 104), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate_at(config, 54, 104), 0.55);
  EXPECT_DOUBLE_EQ(learning_rate_at(config, 104, 104), 0.1);
}

Parameter parameter_with(double value, double grad, bool decays) {
  Parameter p;
  p.name = "w";
  p.value = at::full({2, 2}, value, at::kFloat);
  p.grad = at::full({2, 2}, grad, at::kFloat);
  p.has_grad = true;
  p.decays = decays;
  return p;
}

// Two steps of AdamW by hand, in double.
TEST(Optimizer, AdamWFollowsItsFormula) {
  OptimizerConfig config;
  config.beta1 = 0.9;
  config.beta2 = 0.99;
  config.epsilon = 1e-8;
  config.weight_decay = 0.1;
  Parameter p = parameter_with(1.0, 0.5, true);
  Optimizer optimizer(config, {&p});
  double w = 1.0;
  double m = 0;
  double v = 0;
  for (int t = 1; t <= 2; ++t) {
    optimizer.step(0.01);
    m = 0.9 * m + 0.1 * 0.5;
    v = 0.99 * v + 0.01 * 0.25;
    w -= 0.01 * 0.1 * w;
    w -= 0.01 * (m / (1 - std::pow(0.9, t))) / (std::sqrt(v / (1 - std::pow(0.99, t))) + 1e-8);
    // float32 rounding of three operations.
    EXPECT_NEAR(p.value[0][0].item<double>(), w, 3e-7);
  }
}

TEST(Optimizer, SgdKeepsMomentum) {
  OptimizerConfig config;
  config.kind = "sgd";
  config.momentum = 0.5;
  config.weight_decay = 0;
  Parameter p = parameter_with(1.0, 0.5, false);
  Optimizer optimizer(config, {&p});
  optimizer.step(0.5);
  EXPECT_EQ(p.value[0][0].item<float>(), 0.75f);
  optimizer.step(0.5);
  EXPECT_EQ(p.value[0][0].item<float>(), 0.375f);
}

TEST(Optimizer, LeavesAParameterWithoutGradientAlone) {
  Parameter p = parameter_with(1.0, 0.5, true);
  p.has_grad = false;
  Optimizer optimizer(OptimizerConfig{}, {&p});
  optimizer.step(0.1);
  EXPECT_TRUE(at::equal(p.value, at::ones({2, 2})));
}

TEST(Predict, GivesASimulatedTimelineBackUnchanged) {
  const Schedule schedule = one_f_one_b(3, 5);
  StageCosts costs = uniform_costs(3, Time(20), Time(30), Time(0));
  costs.stages[1].forward = Time(33);
  const Timeline timeline = simulate(schedule, costs, uniform_machine(3));
  const Timeline predicted = predict(timeline, schedule);
  for (std::size_t r = 0; r < 3; ++r)
    EXPECT_EQ(predicted.ranks[r].actions, timeline.ranks[r].actions);
}

TEST(Median, IsTheMiddleOfOddAndEvenCounts) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
}

}  // namespace
}  // namespace headrace
