// SPDX-License-Identifier: Apache-2.0
//
// Everything that `headrace train` can be told, as one value. docs/config.md lists every key.
#pragma once

#include "headrace/base/units.h"

#include <cstdint>
#include <string>
#include <vector>

namespace headrace {

struct DataConfig {
  std::vector<std::string> text;  // files or folders, read as bytes in the order given
  int sequence = 128;             // tokens per sample
  double held_out = 0.1;          // share of the text, from its end, that is never trained on

  bool operator==(const DataConfig&) const = default;
};

struct ModelConfig {
  std::string kind = "gpt";  // gpt, mlp
  int layers = 4;            // transformer blocks, or hidden layers of the mlp
  int d_model = 128;
  int heads = 4;
  int d_hidden = 0;  // 0: 4 * d_model
  int vocabulary = 256;
  bool tied_head = true;  // the output layer shares the token embedding
  double dropout = 0.0;

  bool operator==(const ModelConfig&) const = default;
};

struct PipelineConfig {
  int ranks = 1;
  std::string schedule = "1f1b";  // a method's name, or a file
  int micro_batches = 1;
  std::vector<int> cut;      // layers per stage; empty: balanced by FLOPs
  int threads_per_rank = 1;  // intra-op threads; part of the arithmetic, see docs/threads.md
  Time timeout = std::chrono::minutes(5);  // longest wait for one message

  bool operator==(const PipelineConfig&) const = default;
};

struct OptimizerConfig {
  std::string kind = "adamw";  // adamw, sgd
  double learning_rate = 1e-3;
  double min_learning_rate = 0.0;  // at the end of the cosine
  int warmup_steps = 0;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;  // on matrices only
  double momentum = 0.9;      // sgd
  double clip_norm = 0.0;     // 0: no clipping

  bool operator==(const OptimizerConfig&) const = default;
};

struct EvalConfig {
  int every = 0;    // steps between evaluations; 0: only at the end
  int batches = 8;  // of held-out text

  bool operator==(const EvalConfig&) const = default;
};

struct TrainConfig {
  std::string name = "run";
  std::uint64_t seed = 1;
  int steps = 100;
  int batch = 8;  // samples per step, over all micro-batches
  DataConfig data;
  ModelConfig model;
  PipelineConfig pipeline;
  OptimizerConfig optimizer;
  EvalConfig eval;

  bool operator==(const TrainConfig&) const = default;
};

// Throws UsageError for sizes that are zero, negative or do not fit each other ("pipeline.ranks is
// 0; expected 1 or more"), naming the key; everything that can be known without reading the data.
void check(const TrainConfig& config);

}  // namespace headrace
