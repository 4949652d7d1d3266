// SPDX-License-Identifier: Apache-2.0
#include "headrace/cli/schedule_options.h"

#include "headrace/base/error.h"
#include "headrace/schedule/text_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

namespace headrace::cli {

std::string read_text(const std::string& path) {
  std::ostringstream text;
  if (path == "-") {
    text << std::cin.rdbuf();
    return text.str();
  }
  if (std::filesystem::is_directory(path))
    throw IoError(fmt::format("{}: is a folder; name a file", path));
  std::ifstream file(path, std::ios::binary);
  if (!file) throw IoError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  if (file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
  if (file.bad()) throw IoError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  return text.str();
}

void ScheduleOptions::add_to(CLI::App& command) {
  command.add_option("schedule", request_.method, "a method (headrace schedule --list) or a file");
  ranks_ = command.add_option("--ranks", request_.ranks, "p, how many ranks");
  micro_batches_ =
      command.add_option("--micro-batches", request_.micro_batches, "m, micro-batches per step");
  generator_options_ = {
      ranks_,
      micro_batches_,
      command.add_option("--stages-per-rank", request_.stages_per_rank, "v, stages on each rank"),
      command.add_option("--group", request_.group,
                         "micro-batches per group (interleaved) or update (2bw)"),
      command.add_option("--waves", request_.waves, "waves (hanayo)"),
      command.add_option("--pairs", request_.pairs, "pairs of pipelines (chimera)"),
      command.add_option("--slices", request_.slices, "slices per sequence"),
      command.add_option("--in-flight", request_.in_flight,
                         "most micro-batches in flight on a rank (1f1b)"),
      command.add_flag("--reverse", request_.reverse,
                       "backward from the last micro-batch to the first (gpipe)"),
      command.add_flag("--vertical-sync", request_.vertical_sync,
                       "every stage uses the weight version of stage 0 (pipedream)")};
}

bool ScheduleOptions::is_automatic() const {
  return request_.method == "zb-1p" || request_.method == "zb-2p";
}

ScheduleRequest ScheduleOptions::request_for(const std::string& method) const {
  ScheduleRequest request = request_;
  request.method = method;
  return request;
}

bool ScheduleOptions::is_file() const {
  const std::string& name = request_.method;
  const auto names = method_names();
  if (std::find(names.begin(), names.end(), name) != names.end()) return false;
  return name == "-" || name.find_first_of("/.") != std::string::npos ||
         std::filesystem::exists(name);
}

Schedule ScheduleOptions::load() const {
  if (request_.method.empty())
    throw UsageError("no schedule; name a method such as 1f1b, or a file");
  if (is_file()) {
    for (const CLI::Option* option : generator_options_)
      if (option->count() > 0)
        throw UsageError(
            fmt::format("{} makes no sense for the file {}, which has its own sizes; "
                        "leave it out",
                        option->get_name(), request_.method));
    return parse_schedule(read_text(request_.method), request_.method);
  }
  const auto names = method_names();
  const bool known = std::find(names.begin(), names.end(), request_.method) != names.end();
  if (known && (ranks_->count() == 0 || micro_batches_->count() == 0))
    throw UsageError(
        fmt::format("{} needs --ranks and --micro-batches, such as: {} --ranks 4 "
                    "--micro-batches 8",
                    request_.method, request_.method));
  const std::int64_t per_stage =
      std::int64_t{3} * std::max(1, request_.micro_batches) * std::max(1, request_.slices);
  const std::int64_t stages = std::int64_t{std::max(1, request_.ranks)} *
                              std::max(1, request_.stages_per_rank) *
                              std::max(1, 2 * request_.waves);
  if (per_stage > kMostActions / stages)
    throw UsageError(
        fmt::format("{} ranks and {} micro-batches make more than {} actions; take "
                    "fewer",
                    request_.ranks, request_.micro_batches, kMostActions));
  return generate(request_);
}

}  // namespace headrace::cli
