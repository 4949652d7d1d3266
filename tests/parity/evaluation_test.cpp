// SPDX-License-Identifier: Apache-2.0
//
// Training and evaluation alternate freely: neither leaves a trace in the other.
#include "headrace/schedule/basic.h"
#include "tests/parity/fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace headrace {
namespace {

using test::small_config;
using test::small_corpus;
using test::train_piped;
using test::train_unsplit;

// An evaluation had more micro-batches than a step, and from then on every step's loss contained
// the losses of those that were left over. With fewer, the next step ended the run.
TEST(Evaluate, LeavesTrainingAsItWas) {
  const TextCorpus corpus = small_corpus();
  TrainConfig config = small_config();
  config.steps = 5;
  const auto unsplit = train_unsplit(config, corpus, 3);
  config.eval.every = 2;
  for (const int batches : {1, 3})
    for (const int rows : {1, 4, 17}) {
      TextJob text = text_job(config, one_f_one_b(2, 3), corpus);
      const EvaluationText evaluation(corpus.held_out, config.data.sequence,
                                      std::vector<int>(static_cast<std::size_t>(batches), rows));
      text.job.evaluation = &evaluation;
      text.job.evaluation_micro_batches = batches;
      const TrainResult piped = Trainer(std::move(text.job)).run();
      EXPECT_EQ(piped.loss, unsplit.loss) << batches << " of " << rows;
      EXPECT_EQ(piped.digest, unsplit.digest) << batches << " of " << rows;
    }
}

// Nothing comes back to the first stage in an evaluation. It once ran through the whole held-out
// text while the last stage was at its beginning, and the memory of rank 0 grew with
// `eval.batches`.
class Counted : public EvaluationText {
 public:
  using EvaluationText::EvaluationText;
  at::Tensor inputs(std::int64_t step, int micro_batch) const override {
    const int under_way = ++begun - ended.load();
    most = std::max(most.load(), under_way);
    return EvaluationText::inputs(step, micro_batch);
  }
  mutable std::atomic<int> begun{0};
  mutable std::atomic<int> ended{0};
  mutable std::atomic<int> most{0};
};

TEST(Evaluate, DoesNotRunAheadOfTheLastStage) {
  const TextCorpus corpus = small_corpus();
  TrainConfig config = small_config();
  config.steps = 2;
  config.eval.every = 1;
  constexpr int kMicroBatches = 30;
  for (const int p : {1, 2, 5}) {
    TextJob text = text_job(config, one_f_one_b(p, 3), corpus);
    const Counted source(corpus.held_out, config.data.sequence, std::vector<int>(kMicroBatches, 1));
    text.job.evaluation = &source;
    text.job.evaluation_micro_batches = kMicroBatches;
    text.job.loss = [&](Tensors& outputs, const at::Tensor& targets, std::int64_t total,
                        bool grad) {
      if (!grad) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        ++source.ended;
      }
      return cross_entropy(outputs.at(0), targets, total, grad);
    };
    static_cast<void>(Trainer(std::move(text.job)).run());
    EXPECT_EQ(source.begun, 2 * kMicroBatches);
    EXPECT_LE(source.most, 2 * p + 1) << "p=" << p;
    // With less under way the pipeline would not be full.
    EXPECT_GE(source.most, p);
  }
}

}  // namespace
}  // namespace headrace
