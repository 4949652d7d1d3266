// SPDX-License-Identifier: Apache-2.0
//
// The promise of the whole system: whatever the schedule, the ranks and the cut, the result equals
// that of one device, bit for bit.
#include "headrace/execute/rank_threads.h"
#include "headrace/schedule/basic.h"
#include "headrace/schedule/peak.h"
#include "headrace/schedule/text_form.h"
#include "headrace/schedule/verify.h"
#include "tests/parity/fixture.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace headrace {
namespace {

using test::small_config;
using test::small_corpus;
using test::train_piped;
using test::train_unsplit;

void expect_equal(const TrainResult& piped, const test::ReferenceResult& unsplit,
                  const std::string& what) {
  EXPECT_EQ(piped.loss, unsplit.loss) << what;
  EXPECT_EQ(piped.grad_norm, unsplit.grad_norm) << what;
  ASSERT_EQ(piped.weights.size(), unsplit.weights.size()) << what;
  for (std::size_t i = 0; i < piped.weights.size(); ++i)
    EXPECT_TRUE(at::equal(piped.weights[i].tensor, unsplit.weights[i].tensor))
        << what << ": " << piped.weights[i].name;
  EXPECT_EQ(piped.digest, unsplit.digest) << what;
}

TEST(Train, EqualsOneDeviceForEveryScheduleRankCountAndMicroBatchCount) {
  const TextCorpus corpus = small_corpus();
  TrainConfig config = small_config();
  int combinations = 0;
  for (const int m : {1, 2, 3, 5, 8, 16}) {
    const auto unsplit = train_unsplit(config, corpus, m);
    for (const int p : {1, 2, 3, 4, 8})
      for (const char* method : {"naive", "gpipe", "1f1b"}) {
        config.pipeline.ranks = p;
        config.pipeline.micro_batches = m;
        config.pipeline.schedule = method;
        const Schedule schedule = schedule_of(config);
        const auto piped = train_piped(config, schedule, corpus);
        expect_equal(piped, unsplit,
                     std::string(method) + " p=" + std::to_string(p) + " m=" + std::to_string(m));
        EXPECT_EQ(piped.peak_live, peak_live(schedule)) << method << " p=" << p << " m=" << m;
        ++combinations;
      }
  }
  EXPECT_EQ(combinations, 90);
}

TEST(Train, EqualsOneDeviceWithDropoutAndAnUntiedHead) {
  const TextCorpus corpus = small_corpus();
  TrainConfig config = small_config();
  config.model.dropout = 0.2;
  config.model.tied_head = false;
  for (const int p : {1, 3})
    expect_equal(train_piped(config, one_f_one_b(p, 5), corpus), train_unsplit(config, corpus, 5),
                 "p=" + std::to_string(p));
}

TEST(Train, EqualsOneDeviceWithTheBackwardInReverse) {
  const TextCorpus corpus = small_corpus();
  const TrainConfig config = small_config();
  expect_equal(train_piped(config, gpipe(3, 4, true), corpus),
               train_unsplit(config, corpus, 4, {3, 2, 1, 0}), "gpipe reverse");
}

TEST(Train, EqualsOneDeviceForAnMlp) {
  const TextCorpus corpus = small_corpus();
  TrainConfig config = small_config();
  config.model.kind = "mlp";
  expect_equal(train_piped(config, one_f_one_b(4, 6), corpus), train_unsplit(config, corpus, 6),
               "mlp");
}

// Two stages per rank with the backward split, written by hand: any file that verifies must run.
TEST(Train, RunsAHandWrittenLoopedScheduleWithSplitBackward) {
  const Schedule schedule = parse_schedule(R"(headrace-schedule 1
name by-hand
micro-batches 2
place 0 1 0 1
rank 0: 0F0 0F1 2F0 2F1 2I0 2W0 2I1 0I0 2W1 0W0 0I1 0W1
rank 1: 1F0 1F1 3F0 3I0 3F1 3I1 3W0 1I0 3W1 1I1 1W0 1W1
)",
                                           "by-hand");
  ASSERT_TRUE(verify(schedule).empty());
  const TextCorpus corpus = small_corpus();
  expect_equal(train_piped(small_config(), schedule, corpus),
               train_unsplit(small_config(), corpus, 2), "by-hand");
}

TEST(Train, RunsAnUnevenPlacement) {
  const Schedule schedule = parse_schedule(R"(headrace-schedule 1
name uneven
micro-batches 2
place 0 0 1 1 0
rank 0: 0F0 1F0 0F1 1F1 4F0 4B0 4F1 4B1 1B0 0B0 1B1 0B1
rank 1: 2F0 3F0 2F1 3F1 3B0 2B0 3B1 2B1
)",
                                           "uneven");
  ASSERT_TRUE(verify(schedule).empty());
  const TextCorpus corpus = small_corpus();
  expect_equal(train_piped(small_config(), schedule, corpus),
               train_unsplit(small_config(), corpus, 2), "uneven");
}

TEST(Train, RunsOverlappedPairs) {
  const Schedule schedule = parse_schedule(R"(headrace-schedule 1
name pairs
micro-batches 3
place 0 1
rank 0: 0F0 0F1 (0F2;0B0)OVERLAP_F_B 0B1 0B2
rank 1: 1F0 1B0 1F1 1B1 1F2 1B2
)",
                                           "pairs");
  ASSERT_TRUE(verify(schedule).empty());
  const TextCorpus corpus = small_corpus();
  expect_equal(train_piped(small_config(), schedule, corpus),
               train_unsplit(small_config(), corpus, 3), "pairs");
}

// The norm must cover all stages and not depend on how the batch is cut, up to rounding.
TEST(Train, GradientNormDoesNotScaleWithMicroBatches) {
  const TextCorpus corpus = small_corpus();
  TrainConfig config = small_config();
  config.batch = 16;
  const double one = train_piped(config, one_f_one_b(2, 1), corpus).grad_norm.front();
  for (const int m : {2, 4, 16})
    // Only the order of float32 sums differs.
    EXPECT_NEAR(train_piped(config, one_f_one_b(2, m), corpus).grad_norm.front(), one, 1e-5 * one)
        << m;
}

TEST(Train, MemoryOfOneFOneBDoesNotGrowWithMicroBatches) {
  const TextCorpus corpus = small_corpus();
  TrainConfig config = small_config();
  config.model.d_model = 64;
  config.data.sequence = 64;
  const int p = 4;
  // Equal rows per micro-batch, so that only their number changes.
  const auto peak = [&](int m) {
    config.batch = m;
    return train_piped(config, one_f_one_b(p, m), corpus).peak_bytes;
  };
  const auto at_p = peak(p);
  const auto at_4p = peak(4 * p);
  for (std::size_t r = 0; r < at_p.size(); ++r)
    // What comes from a rank that runs ahead may be waiting; it is a boundary tensor, not a stage.
    EXPECT_LE(at_4p[r].value, at_p[r].value * 102 / 100) << "rank " << r;
  config.batch = 4 * p;
  EXPECT_GT(train_piped(config, gpipe(p, 4 * p), corpus).peak_bytes[0].value,
            at_4p[0].value * 3 / 2);
}

TEST(Train, StopsAtTheEndOfAStepWhenAsked) {
  const TextCorpus corpus = small_corpus();
  TrainConfig config = small_config();
  config.steps = 100;
  TextJob text = text_job(config, one_f_one_b(3, 4), corpus);
  Trainer trainer(std::move(text.job));
  const TrainResult result = trainer.run([&](const StepReport& report) {
    if (report.step == 2) trainer.request_stop();
  });
  EXPECT_TRUE(result.stopped);
  EXPECT_GE(result.loss.size(), 3u);
  EXPECT_LE(result.loss.size(), 6u);
  EXPECT_TRUE(result.eval_loss.has_value());
}

}  // namespace
}  // namespace headrace
