// SPDX-License-Identifier: Apache-2.0
#include "headrace/cli/torch/run_folder.h"

#include "headrace/base/error.h"
#include "headrace/checkpoint/safetensors.h"
#include "headrace/cli/output.h"
#include "headrace/timeline/json.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sys/file.h>

namespace headrace::cli {

namespace fs = std::filesystem;

RunFolder::RunFolder(std::string path) : path_(std::move(path)) {
  std::error_code error;
  const fs::file_status status = fs::status(path_, error);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status))
    throw UsageError(fmt::format("{}: is a file; name a folder with --run", path_));
  if (fs::is_empty(path_, error) || fs::exists(file("metrics.jsonl"))) return;
  throw UsageError(
      fmt::format("{}: holds files that are not of a run; name another folder with "
                  "--run",
                  path_));
}

// The system gives the lock back when the process ends, however it ends.
void RunFolder::lock() {
  lock_.reset(std::fopen(file("lock").c_str(), "w"));
  if (lock_ == nullptr)
    throw IoError(fmt::format("{}: cannot be written: {}", file("lock"), std::strerror(errno)));
  if (::flock(::fileno(lock_.get()), LOCK_EX | LOCK_NB) == 0) return;
  throw UsageError(
      fmt::format("{}: another run is writing there; name another folder with --run, or "
                  "wait for its end",
                  path_));
}

void RunFolder::begin(const std::string& config_toml) {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error) throw IoError(fmt::format("{}: cannot be made: {}", path_, error.message()));
  lock();
  for (const char* old : {"model.safetensors", "timeline.json", "summary.json"})
    fs::remove(file(old), error);
  write_file_atomically(file("config.toml"), std::as_bytes(std::span(config_toml)));
  metrics_.reset(std::fopen(file("metrics.jsonl").c_str(), "w"));
  if (metrics_ == nullptr)
    throw IoError(
        fmt::format("{}: cannot be written: {}", file("metrics.jsonl"), std::strerror(errno)));
}

void RunFolder::add_metrics(const StepReport& report) {
  Json line{{"step", report.step},
            {"loss", report.loss},
            {"learning_rate", report.learning_rate},
            {"tokens_per_s", report.tokens_per_s},
            {"bubble", report.bubble},
            {"step_ns", report.step_time.count()}};
  if (report.grad_norm > 0) line["grad_norm"] = report.grad_norm;
  if (report.eval_loss) line["eval_loss"] = *report.eval_loss;
  const std::string text = line.dump() + "\n";
  if (std::fwrite(text.data(), 1, text.size(), metrics_.get()) != text.size() ||
      std::fflush(metrics_.get()) != 0)
    throw IoError(
        fmt::format("{}: cannot be written: {}", file("metrics.jsonl"), std::strerror(errno)));
}

void RunFolder::write_result(const TrainResult& result, const std::string& summary_json) {
  std::vector<at::Tensor> dense;
  std::vector<NamedArray> arrays;
  for (const NamedTensor& named : result.weights) {
    dense.push_back(named.tensor.contiguous());
    arrays.push_back(
        {named.name,
         "F32",
         dense.back().sizes().vec(),
         {static_cast<const std::byte*>(dense.back().data_ptr()), dense.back().nbytes()}});
  }
  write_safetensors(file("model.safetensors"), std::move(arrays));
  const std::string timeline = to_json(result.last_step) + "\n";
  write_file_atomically(file("timeline.json"), std::as_bytes(std::span(timeline)));
  write_file_atomically(file("summary.json"), std::as_bytes(std::span(summary_json)));
}

}  // namespace headrace::cli
