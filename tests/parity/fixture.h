// SPDX-License-Identifier: Apache-2.0
//
// A small text and a small GPT, trained for a few steps under any schedule.
#pragma once

#include "headrace/data/batches.h"
#include "headrace/runtime/cpu_allocator.h"
#include "headrace/runtime/job.h"
#include "tests/parity/reference.h"

#include <ATen/Parallel.h>

#include <numeric>

namespace headrace::test {

inline TextCorpus small_corpus() {
  TextCorpus corpus;
  for (int i = 0; i < 4000; ++i)
    corpus.train.push_back(static_cast<std::uint8_t>('a' + (i * i + i / 7) % 23));
  corpus.held_out.assign(corpus.train.begin(), corpus.train.begin() + 500);
  return corpus;
}

// Eight cut units would not be enough for eight stages and an uneven cut: 3 blocks make 8, 4
// make 10.
inline TrainConfig small_config() {
  TrainConfig config;
  config.seed = 7;
  config.steps = 3;
  config.batch = 17;  // which none of the tested micro-batch counts but 1 divides
  config.data.text = {"in memory"};
  config.data.sequence = 8;
  config.model.layers = 4;
  config.model.d_model = 16;
  config.model.heads = 2;
  config.optimizer.learning_rate = 1e-2;
  config.optimizer.warmup_steps = 1;
  config.optimizer.clip_norm = 0.5;
  config.eval.batches = 1;
  return config;
}

inline TrainResult train_piped(const TrainConfig& config, const Schedule& schedule,
                               const TextCorpus& corpus) {
  TextJob text = text_job(config, schedule, corpus);
  return Trainer(std::move(text.job)).run();
}

inline ReferenceResult train_unsplit(const TrainConfig& config, const TextCorpus& corpus,
                                     int micro_batches, std::vector<int> order = {}) {
  install_cpu_allocator();
  at::set_num_threads(1);
  if (order.empty()) {
    order.resize(static_cast<std::size_t>(micro_batches));
    std::iota(order.begin(), order.end(), 0);
  }
  const TrainingText source(corpus.train, config.data.sequence, config.seed,
                            micro_batch_sizes(config.batch, micro_batches));
  return Reference(network_of(config), config.seed)
      .train(source, config.optimizer, config.steps, order);
}

}  // namespace headrace::test
