// SPDX-License-Identifier: Apache-2.0
//
// One rank fails: all ranks end within a second, with one message that says where and why.
#include "headrace/base/error.h"
#include "headrace/models/loss.h"
#include "headrace/partition/partition.h"
#include "headrace/runtime/trainer.h"
#include "headrace/schedule/basic.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>

namespace headrace {
namespace {

// Passes values through, and throws in the backward (or forward) of one micro-batch of one step.
class FragileLayer : public Layer {
 public:
  struct Trap {
    bool forward = false;
    std::int64_t step = 0;
    int micro_batch = 0;
  };
  FragileLayer(const std::string& name, std::optional<Trap> trap) : Layer(name), trap_(trap) {}

  Tensors forward(Tensors input, const LayerContext& context, Saved* /*saved*/) override {
    spring(true, context);
    return {input.at(0) * 1.0};
  }
  Tensors backward(Tensors output_grad, Saved /*saved*/, const LayerContext& context,
                   WeightGradWork* /*later*/) override {
    spring(false, context);
    return output_grad;
  }

 private:
  void spring(bool forward, const LayerContext& context) const {
    if (trap_ && trap_->forward == forward && trap_->step == context.step &&
        trap_->micro_batch == context.micro_batch)
      throw std::runtime_error("the roof is leaking");
  }
  std::optional<Trap> trap_;
};

class Ones : public BatchSource {
 public:
  at::Tensor inputs(std::int64_t, int) const override { return at::ones({2, 4}); }
  at::Tensor targets(std::int64_t, int) const override { return at::zeros({2}, at::kLong); }
  std::int64_t total_targets(std::int64_t) const override { return 8; }
};

TrainJob fragile_job(const Ones& source, int trapped_layer, FragileLayer::Trap trap) {
  TrainJob job;
  for (int i = 0; i < 4; ++i) {
    LayerSpec spec;
    spec.name = "layer." + std::to_string(i);
    spec.make = [=](std::uint64_t) {
      return std::make_unique<FragileLayer>(
          "layer." + std::to_string(i), i == trapped_layer ? std::optional(trap) : std::nullopt);
    };
    job.network.layers.push_back(spec);
  }
  job.schedule = one_f_one_b(4, 4);
  job.partition.stages = {{0, 1}, {1, 2}, {2, 3}, {3, 4}};
  job.loss = [](Tensors& outputs, const at::Tensor& targets, std::int64_t total, bool grad) {
    return cross_entropy(outputs.at(0), targets, total, grad);
  };
  job.training = &source;
  job.steps = 50;
  return job;
}

TEST(Train, NamesRankStageLayerAndMicroBatchOfAFailure) {
  const Ones source;
  for (const bool forward : {true, false})
    for (int layer = 0; layer < 4; ++layer) {
      Trainer trainer(fragile_job(source, layer, {forward, 2, 3}));
      const auto start = std::chrono::steady_clock::now();
      try {
        static_cast<void>(trainer.run());
        FAIL() << "nothing was thrown";
      } catch (const ComputeError& error) {
        const std::string what = error.what();
        const std::string number = std::to_string(layer);
        EXPECT_NE(what.find("rank " + number), std::string::npos) << what;
        EXPECT_NE(what.find("stage " + number), std::string::npos) << what;
        EXPECT_NE(what.find("micro-batch 3"), std::string::npos) << what;
        EXPECT_NE(what.find("layer layer." + number + ": the roof is leaking"), std::string::npos)
            << what;
      }
      EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
    }
}

TEST(Train, NamesTheLossThatFails) {
  const Ones source;
  TrainJob job = fragile_job(source, -1, {});
  job.loss = [](Tensors&, const at::Tensor&, std::int64_t, bool) -> double {
    throw std::runtime_error("no such target");
  };
  Trainer trainer(std::move(job));
  try {
    static_cast<void>(trainer.run());
    FAIL() << "nothing was thrown";
  } catch (const ComputeError& error) {
    EXPECT_STREQ(error.what(),
                 "rank 3, action 0 (3F0): stage 3, micro-batch 0: loss: no such target");
  }
}

TEST(Train, EndsWithWhatTheProgressCallbackThrows) {
  const Ones source;
  Trainer trainer(fragile_job(source, -1, {}));
  const auto start = std::chrono::steady_clock::now();
  const auto progress = [](const StepReport& report) {
    if (report.step == 3) throw IoError("metrics.jsonl: cannot be written: disk full");
  };
  EXPECT_THROW(static_cast<void>(trainer.run(progress)), IoError);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST(Train, RunsNoStepWhenStoppedBeforehand) {
  const Ones source;
  Trainer trainer(fragile_job(source, -1, {}));
  trainer.request_stop();
  const TrainResult result = trainer.run();
  EXPECT_TRUE(result.stopped);
  EXPECT_TRUE(result.loss.empty());
  EXPECT_EQ(result.digest.size(), 64u);
}

TEST(Train, RunsAgainWithTheSameTrainer) {
  const Ones source;
  Trainer trainer(fragile_job(source, -1, {}));
  const TrainResult once = trainer.run();
  EXPECT_EQ(trainer.run().digest, once.digest);
}

TEST(Train, RefusesAScheduleThatBreaksARule) {
  const Ones source;
  TrainJob job = fragile_job(source, -1, {});
  std::swap(job.schedule.ranks[3][0], job.schedule.ranks[3][1]);
  try {
    Trainer trainer(std::move(job));
    FAIL() << "nothing was thrown";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("breaks a rule: rank 3, action 0: 3B0 needs 3F0"),
              std::string::npos)
        << error.what();
  }
}

TEST(Train, RefusesWhatItWouldNotRunRight) {
  const Ones source;
  const auto message_of = [&](auto change) {
    TrainJob job = fragile_job(source, -1, {});
    change(job.schedule);
    try {
      Trainer trainer(std::move(job));
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message_of([](Schedule& s) {
              for (auto& list : s.ranks)
                std::erase_if(list, [](const Action& a) { return a.kind != ActionKind::Forward; });
            }),
            "schedule 1f1b has forwards only; training needs a backward");
  EXPECT_EQ(message_of([](Schedule& s) { s.copies.push_back(s.copies.front()); }).substr(0, 14),
            "schedule 1f1b ");
  EXPECT_EQ(message_of([](Schedule& s) { s.weights.rule = WeightRule::Stash; }).substr(0, 14),
            "schedule 1f1b ");
}

TEST(Train, RefusesACutOfAnotherSize) {
  const Ones source;
  TrainJob job = fragile_job(source, -1, {});
  job.partition.stages = {{0, 2}, {2, 4}};
  EXPECT_THROW(Trainer trainer(std::move(job)), UsageError);
}

TEST(Train, EndsAtALossThatIsNotFiniteAndSaysWhichMicroBatch) {
  const Ones source;
  TrainJob job = fragile_job(source, -1, {});
  job.loss = [](Tensors& outputs, const at::Tensor&, std::int64_t, bool) {
    outputs.at(0).zero_();
    return std::numeric_limits<double>::quiet_NaN();
  };
  Trainer trainer(std::move(job));
  try {
    static_cast<void>(trainer.run());
    FAIL() << "nothing was thrown";
  } catch (const ComputeError& error) {
    EXPECT_NE(std::string(error.what())
                  .find("rank 3, action 0 (3F0): stage 3, micro-batch 0: step 0: the loss is nan"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace headrace
