// SPDX-License-Identifier: Apache-2.0
#include "headrace/base/error.h"
#include "headrace/base/text.h"
#include "headrace/config/train_config.h"

#include <fmt/format.h>

namespace headrace {
namespace {

template <class T>
void require(bool holds, std::string_view key, const T& value, std::string_view expected) {
  if (!holds) throw UsageError(fmt::format("{} is {}; expected {}", key, value, expected));
}

void at_least_one(std::string_view key, int value) {
  require(value >= 1, key, value, "1 or more");
}

// Far beyond what any machine holds, and small enough that sizes and FLOPs made of several such
// numbers are exact in 64 bits.
constexpr int kMostOfASize = 1 << 20;

void sensible_size(std::string_view key, int value) {
  at_least_one(key, value);
  require(value <= kMostOfASize, key, value, fmt::format("{} or less", kMostOfASize));
}

void one_of(std::string_view key, const std::string& value, const std::vector<std::string>& known) {
  for (const std::string& name : known)
    if (name == value) return;
  throw UsageError(unknown_name(key, value, known));
}

void check_data(const DataConfig& data) {
  if (data.text.empty())
    throw UsageError("data.text is empty; name at least one file or folder of text");
  sensible_size("data.sequence", data.sequence);
  require(data.held_out >= 0 && data.held_out < 1, "data.held_out", data.held_out,
          "0 or more and less than 1");
}

void check_model(const ModelConfig& model) {
  one_of("model.kind", model.kind, {"gpt", "mlp"});
  at_least_one("model.layers", model.layers);
  require(model.layers <= 10000, "model.layers", model.layers, "10000 or less");
  sensible_size("model.d_model", model.d_model);
  at_least_one("model.heads", model.heads);
  require(model.d_hidden >= 0 && model.d_hidden <= kMostOfASize, "model.d_hidden", model.d_hidden,
          fmt::format("0 (4 * d_model) to {}", kMostOfASize));
  // The text is bytes, and each of them must have a row in the embedding.
  require(model.vocabulary >= 256, "model.vocabulary", model.vocabulary,
          "256 or more, one word per byte");
  sensible_size("model.vocabulary", model.vocabulary);
  require(model.dropout >= 0 && model.dropout < 1, "model.dropout", model.dropout,
          "0 or more and less than 1");
  if (model.kind == "gpt" && model.d_model % model.heads != 0)
    throw UsageError(
        fmt::format("model.d_model is {} and model.heads is {}; heads must divide "
                    "d_model",
                    model.d_model, model.heads));
  if (model.kind == "mlp" && model.dropout > 0)
    throw UsageError("model.dropout is set, but the mlp has no dropout; set it to 0");
}

void check_pipeline(const TrainConfig& config) {
  const PipelineConfig& pipeline = config.pipeline;
  at_least_one("pipeline.ranks", pipeline.ranks);
  require(pipeline.ranks <= 1024, "pipeline.ranks", pipeline.ranks, "at most 1024");
  require(!pipeline.schedule.empty(), "pipeline.schedule", "empty", "a method or a file");
  at_least_one("pipeline.micro_batches", pipeline.micro_batches);
  if (pipeline.micro_batches > config.batch)
    throw UsageError(
        fmt::format("pipeline.micro_batches is {}, but batch is {}; a micro-batch has "
                    "at least one sample, so use {} micro-batches or fewer",
                    pipeline.micro_batches, config.batch, config.batch));
  for (const int layers : pipeline.cut) require(layers >= 1, "pipeline.cut", layers, "1 or more");
  at_least_one("pipeline.threads_per_rank", pipeline.threads_per_rank);
  // A thread pool of a hundred thousand ends the process without a word.
  require(pipeline.threads_per_rank <= 1024, "pipeline.threads_per_rank", pipeline.threads_per_rank,
          "at most 1024");
  require(pipeline.timeout > Time(0), "pipeline.timeout", format_time(pipeline.timeout),
          "more than 0");
}

void check_optimizer(const OptimizerConfig& optimizer) {
  one_of("optimizer.kind", optimizer.kind, {"adamw", "sgd"});
  const auto not_negative = [](std::string_view key, double value) {
    require(value >= 0, key, value, "0 or more");
  };
  not_negative("optimizer.learning_rate", optimizer.learning_rate);
  not_negative("optimizer.min_learning_rate", optimizer.min_learning_rate);
  not_negative("optimizer.weight_decay", optimizer.weight_decay);
  not_negative("optimizer.clip_norm", optimizer.clip_norm);
  require(optimizer.warmup_steps >= 0, "optimizer.warmup_steps", optimizer.warmup_steps,
          "0 or more");
  require(optimizer.epsilon > 0, "optimizer.epsilon", optimizer.epsilon, "more than 0");
  const auto below_one = [](std::string_view key, double value) {
    require(value >= 0 && value < 1, key, value, "0 or more and less than 1");
  };
  below_one("optimizer.beta1", optimizer.beta1);
  below_one("optimizer.beta2", optimizer.beta2);
  below_one("optimizer.momentum", optimizer.momentum);
}

}  // namespace

void check(const TrainConfig& config) {
  require(!config.name.empty() && config.name.find('/') == std::string::npos &&
              config.name != "." && config.name != "..",
          "name", "\"" + quote_for_message(config.name) + "\"", "a word that can name a folder");
  at_least_one("steps", config.steps);
  sensible_size("batch", config.batch);
  check_data(config.data);
  check_model(config.model);
  check_pipeline(config);
  check_optimizer(config.optimizer);
  require(config.eval.every >= 0, "eval.every", config.eval.every, "0 or more");
  at_least_one("eval.batches", config.eval.batches);
}

}  // namespace headrace
