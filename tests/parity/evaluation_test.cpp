// SPDX-License-Identifier: Apache-2.0
//
// Training and evaluation alternate freely: neither leaves a trace in the other.
#include "headrace/schedule/basic.h"
#include "tests/parity/fixture.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace headrace
