// SPDX-License-Identifier: Apache-2.0
#include "headrace/runtime/job.h"

#include "headrace/base/error.h"
#include "headrace/schedule/basic.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <fstream>

namespace headrace {
namespace {

TrainConfig gpt_config() {
  TrainConfig config;
  config.batch = 17;
  config.data.sequence = 8;
  config.model.layers = 4;
  config.model.d_model = 16;
  config.model.heads = 2;
  return config;
}

TEST(PartitionOf, TakesTheCutAsGiven) {
  TrainConfig config = gpt_config();
  config.pipeline.cut = {1, 7, 2};
  EXPECT_EQ(to_text(partition_of(config, network_of(config), one_f_one_b(3, 4))), "1,7,2");
}

// The embedding costs next to nothing, a block 12 d^2 per token, the head 256 d: with d = 16 the
// head weighs more than a block, so the last stage gets fewer layers.
TEST(PartitionOf, GivesTheHeaviestStageAsFewFlopsAsPossible) {
  const TrainConfig config = gpt_config();
  const Network network = network_of(config);
  const Partition partition = partition_of(config, network, one_f_one_b(2, 4));
  const ModelProfile profile = profile_of(network, {1, 8});
  std::vector<std::int64_t> flops;
  for (const LayerProfile& layer : profile.layers) flops.push_back(layer.flops);
  const auto heaviest = [&](int first) {
    std::int64_t low = 0;
    std::int64_t high = 0;
    for (int i = 0; i < static_cast<int>(flops.size()); ++i)
      (i < first ? low : high) += flops[static_cast<std::size_t>(i)];
    return std::max(low, high);
  };
  std::int64_t best = heaviest(1);
  for (int first = 2; first < static_cast<int>(flops.size()); ++first)
    best = std::min(best, heaviest(first));
  EXPECT_EQ(heaviest(partition.stages[0].last), best);
}

TEST(PartitionOf, RefusesMoreStagesThanLayers) {
  const TrainConfig config = gpt_config();
  try {
    static_cast<void>(partition_of(config, network_of(config), one_f_one_b(11, 4)));
    FAIL() << "nothing was thrown";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("11 stages but only 10 layers"), std::string::npos);
  }
}

TEST(ScheduleOf, RefusesAFileOfAnotherSize) {
  TrainConfig config = gpt_config();
  config.pipeline.schedule = ::testing::TempDir() + "two-ranks.csv";
  std::ofstream(config.pipeline.schedule) << "0F0,0B0\n1F0,1B0\n";
  config.pipeline.ranks = 3;
  config.pipeline.micro_batches = 1;
  EXPECT_THROW(static_cast<void>(schedule_of(config)), UsageError);
  config.pipeline.ranks = 2;
  EXPECT_EQ(schedule_of(config).stage_count(), 2);
  config.pipeline.micro_batches = 2;
  EXPECT_THROW(static_cast<void>(schedule_of(config)), UsageError);
}

// The held-out loss once covered a few rows fewer when the batch did not divide.
TEST(TextJob, EvaluatesTheSameRowsForEveryMicroBatchCount) {
  TextCorpus corpus;
  corpus.train.assign(1000, 'a');
  corpus.held_out.assign(1001, 'b');
  TrainConfig config = gpt_config();
  config.eval.batches = 2;
  for (const int m : {1, 2, 3, 5, 16, 17}) {
    config.pipeline.micro_batches = m;
    const TextJob text = text_job(config, one_f_one_b(2, m), corpus);
    EXPECT_EQ(text.evaluation->total_targets(0), 34 * 8) << m;
    const auto largest = text.evaluation->inputs(0, 0).size(0);
    EXPECT_LE(largest, text.training->inputs(0, 0).size(0)) << m;
  }
  // A text shorter than that is evaluated once, not several times.
  config.eval.batches = 100;
  EXPECT_EQ(text_job(config, one_f_one_b(2, 17), corpus).evaluation->total_targets(0), 1000);
}

}  // namespace
}  // namespace headrace
