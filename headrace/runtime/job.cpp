// SPDX-License-Identifier: Apache-2.0
#include "headrace/runtime/job.h"

#include "headrace/base/error.h"
#include "headrace/data/batches.h"
#include "headrace/models/gpt.h"
#include "headrace/models/mlp.h"
#include "headrace/schedule/generate.h"
#include "headrace/schedule/text_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace headrace {

Network network_of(const TrainConfig& config) {
  const ModelConfig& model = config.model;
  if (model.kind == "mlp") return mlp_network({model.layers, model.d_model, model.vocabulary});
  GptShape shape;
  shape.layers = model.layers;
  shape.d_model = model.d_model;
  shape.heads = model.heads;
  shape.d_hidden = model.d_hidden > 0 ? model.d_hidden : 4 * model.d_model;
  shape.vocabulary = model.vocabulary;
  shape.sequence = config.data.sequence;
  shape.tied_head = model.tied_head;
  shape.dropout = model.dropout;
  return gpt_network(shape);
}

namespace {

Schedule read_schedule(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file) throw IoError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  return parse_schedule(text.str(), path);
}

}  // namespace

Schedule schedule_of(const TrainConfig& config) {
  const PipelineConfig& pipeline = config.pipeline;
  const auto names = method_names();
  const bool method = std::find(names.begin(), names.end(), pipeline.schedule) != names.end();
  if (method || pipeline.schedule.find_first_of("/.") == std::string::npos) {
    ScheduleRequest request;
    request.method = pipeline.schedule;
    request.ranks = pipeline.ranks;
    request.micro_batches = pipeline.micro_batches;
    return generate(request);
  }
  Schedule schedule = read_schedule(pipeline.schedule);
  if (schedule.rank_count() != pipeline.ranks)
    throw UsageError(fmt::format("{} has {} ranks, but pipeline.ranks is {}; set it to {}",
                                 pipeline.schedule, schedule.rank_count(), pipeline.ranks,
                                 schedule.rank_count()));
  if (schedule.micro_batches != pipeline.micro_batches)
    throw UsageError(fmt::format(
        "{} has {} micro-batches, but pipeline.micro_batches is {}; set it to {}",
        pipeline.schedule, schedule.micro_batches, pipeline.micro_batches, schedule.micro_batches));
  return schedule;
}

Partition partition_of(const TrainConfig& config, const Network& network,
                       const Schedule& schedule) {
  const int layers = static_cast<int>(network.layers.size());
  const int stages = schedule.stage_count();
  if (layers < stages)
    throw UsageError(
        fmt::format("{} stages but only {} layers (the embedding, two per block, and "
                    "the head of a gpt); use {} stages or fewer, or more layers",
                    stages, layers, layers));
  const std::vector<int>& cut = config.pipeline.cut;
  if (!cut.empty()) {
    if (static_cast<int>(cut.size()) != stages)
      throw UsageError(
          fmt::format("pipeline.cut names {} stages, but the schedule has {}", cut.size(), stages));
    return partition_from_counts(cut, layers);
  }
  const ModelProfile profile = profile_of(network, {1, config.data.sequence});
  std::vector<std::int64_t> flops;
  for (const LayerProfile& layer : profile.layers) flops.push_back(layer.flops);
  return balance_layers(flops, stages);
}

namespace {

// As many rows as asked for, or as the text has, so that every micro-batch count evaluates the same
// ones; no micro-batch larger than in training.
std::vector<int> evaluation_sizes(const TrainConfig& config, std::size_t bytes, int most_rows) {
  const auto asked = std::int64_t{config.eval.batches} * config.batch;
  const auto whole = (static_cast<std::int64_t>(bytes) - 1) / config.data.sequence;
  const int rows = static_cast<int>(std::min(asked, whole));
  return micro_batch_sizes(rows, (rows - 1) / most_rows + 1);
}

}  // namespace

namespace {

// What all ranks together hold at the least, in bytes: weights, gradients and optimizer state, and
// what every layer keeps of one micro-batch, which all stages do when its last forward ends. In
// floating point, for the sizes may be absurd.
double least_memory(const TrainConfig& config, const Network& network, int rows) {
  const double copies = config.optimizer.kind == "adamw" ? 4 : 3;
  double floats = 0;
  for (const LayerSpec& layer : network.layers) {
    floats += copies * static_cast<double>(layer.parameters);
    floats += static_cast<double>(layer.saved_elements({1, config.data.sequence})) * rows;
  }
  return floats * sizeof(float);
}

// Without this the system would end the program some time later, without a word.
void check_memory(const TrainConfig& config, const Network& network, int rows) {
  constexpr double kGiB = 1 << 30;
  const double needed = least_memory(config, network, rows);
  const double there =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (needed > there)
    throw UsageError(fmt::format(
        "the network needs {:.1f} GiB at the least, with gradients, optimizer state and one "
        "micro-batch of {} samples, but this machine has {:.1f} GiB; take a smaller model, or more "
        "micro-batches",
        needed / kGiB, rows, there / kGiB));
}

}  // namespace

TextJob text_job(const TrainConfig& config, Schedule schedule, const TextCorpus& corpus) {
  check_trainable(schedule);
  TextJob text;
  TrainJob& job = text.job;
  job.network = network_of(config);
  const auto sizes = micro_batch_sizes(config.batch, schedule.micro_batches);
  check_memory(config, job.network, sizes.front());
  job.partition = partition_of(config, job.network, schedule);
  text.training =
      std::make_unique<TrainingText>(corpus.train, config.data.sequence, config.seed, sizes);
  if (!corpus.held_out.empty()) {
    auto parts = evaluation_sizes(config, corpus.held_out.size(), sizes.front());
    job.evaluation_micro_batches = static_cast<int>(parts.size());
    text.evaluation =
        std::make_unique<EvaluationText>(corpus.held_out, config.data.sequence, std::move(parts));
  }
  job.schedule = std::move(schedule);
  job.loss = token_cross_entropy();
  job.training = text.training.get();
  job.evaluation = text.evaluation.get();
  job.tokens_per_step = std::int64_t{config.batch} * config.data.sequence;
  job.seed = config.seed;
  job.steps = config.steps;
  job.evaluate_every = config.eval.every;
  job.threads_per_rank = config.pipeline.threads_per_rank;
  job.timeout = config.pipeline.timeout;
  job.optimizer = config.optimizer;
  return text;
}

}  // namespace headrace
