// SPDX-License-Identifier: Apache-2.0
//
// From a configuration to a job: network, schedule, cut.
#pragma once

#include "headrace/config/train_config.h"
#include "headrace/data/text_corpus.h"
#include "headrace/models/network.h"
#include "headrace/partition/partition.h"
#include "headrace/runtime/trainer.h"
#include "headrace/schedule/schedule.h"

#include <memory>

namespace headrace {

[[nodiscard]] Network network_of(const TrainConfig& config);

// A method by its name, or a file by its path; a file must have as many ranks and micro-batches as
// the configuration. Throws UsageError or ParseError; the result may have violations if it is a
// file.
[[nodiscard]] Schedule schedule_of(const TrainConfig& config);

// The cut of the configuration, or the one with the least FLOPs on the heaviest stage.
[[nodiscard]] Partition partition_of(const TrainConfig& config, const Network& network,
                                     const Schedule& schedule);

// A job and the batches it reads; the corpus must outlive it.
struct TextJob {
  std::unique_ptr<BatchSource> training;
  std::unique_ptr<BatchSource> evaluation;
  TrainJob job;
};

// Everything for training on text. Throws UsageError for what does not fit together.
[[nodiscard]] TextJob text_job(const TrainConfig& config, Schedule schedule,
                               const TextCorpus& corpus);

}  // namespace headrace
