// SPDX-License-Identifier: Apache-2.0
//
// The folder of a run:
//
//   config.toml          every key as used
//   metrics.jsonl        one line per step
//   model.safetensors    the weights at the end
//   timeline.json        when each action of the last step ran
//   summary.json         what --json prints
//   lock                 held while a run writes here, so that two never mix
#pragma once

#include "headrace/runtime/trainer.h"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace headrace::cli {

class RunFolder {
 public:
  // Only looks: throws UsageError where `path` holds something else than an earlier run, whose
  // files would be replaced, and IoError where it cannot be a folder.
  explicit RunFolder(std::string path);

  // Makes the folder, writes config.toml and begins metrics.jsonl.
  void begin(const std::string& config_toml);
  void add_metrics(const StepReport& report);
  void write_result(const TrainResult& result, const std::string& summary_json);

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  [[nodiscard]] std::string file(const char* name) const { return path_ + "/" + name; }

  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };

  void lock();

  std::string path_;
  std::unique_ptr<std::FILE, Close> lock_;
  std::unique_ptr<std::FILE, Close> metrics_;
};

}  // namespace headrace::cli
