// SPDX-License-Identifier: Apache-2.0
#include "headrace/base/error.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/output.h"
#include "headrace/cli/torch/progress.h"
#include "headrace/cli/torch/run_folder.h"
#include "headrace/config/parse.h"
#include "headrace/report/grid.h"
#include "headrace/runtime/job.h"
#include "headrace/schedule/peak.h"
#include "headrace/schedule/verify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <csignal>
#include <memory>
#include <unistd.h>

namespace headrace::cli {
namespace {

// An option of its own for a key that is often changed.
struct Shortcut {
  const char* option;
  const char* key;
  const char* help;
};
constexpr Shortcut kShortcuts[] = {
    {"--ranks", "pipeline.ranks", "ranks, one thread each"},
    {"--schedule", "pipeline.schedule", "a method or a schedule file"},
    {"--micro-batches", "pipeline.micro_batches", "micro-batches per step"},
    {"--cut", "pipeline.cut", "layers per stage, such as 5,3"},
    {"--steps", "steps", "optimizer steps"},
    {"--batch", "batch", "samples per step"},
    {"--seed", "seed", "of weights, batches and dropout"},
    {"--timeout", "pipeline.timeout", "longest wait for one message, such as 300s"},
    {"--threads-per-rank", "pipeline.threads_per_rank", "intra-op threads of each rank"},
};

struct Options {
  std::string config;
  std::vector<std::string> shortcuts = std::vector<std::string>(std::size(kShortcuts));
  std::vector<std::string> sets;
  std::string run;
  bool quiet = false;
  bool json = false;
};

std::vector<Override> overrides_of(const Options& options) {
  std::vector<Override> changes;
  for (std::size_t i = 0; i < std::size(kShortcuts); ++i) {
    const std::string& value = options.shortcuts[i];
    if (value.empty()) continue;
    const std::string key = kShortcuts[i].key;
    changes.push_back({key, key == "pipeline.cut" ? "[" + value + "]" : value});
  }
  for (const std::string& set : options.sets) {
    const auto at = set.find('=');
    if (at == std::string::npos)
      throw UsageError(fmt::format("--set {}: expected key=value, such as optimizer.clip_norm=1.0",
                                   quote_for_message(set)));
    changes.push_back({std::string(trim(std::string_view(set).substr(0, at))),
                       std::string(trim(std::string_view(set).substr(at + 1)))});
  }
  return changes;
}

// The one trainer that a signal stops. A handler cannot be given a value in another way.
std::atomic<Trainer*> running{nullptr};

extern "C" void stop_on_signal(int) {
  if (Trainer* trainer = running.load()) trainer->request_stop();
}

// While it lives, SIGINT and SIGTERM end the run at the step's end; a second one ends it at once.
class StopOnSignal {
 public:
  explicit StopOnSignal(Trainer& trainer) {
    running.store(&trainer);
    struct sigaction action {};
    action.sa_handler = &stop_on_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    ::sigaction(SIGINT, &action, &before_int_);
    ::sigaction(SIGTERM, &action, &before_term_);
  }
  ~StopOnSignal() {
    ::sigaction(SIGINT, &before_int_, nullptr);
    ::sigaction(SIGTERM, &before_term_, nullptr);
    running.store(nullptr);
  }
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

 private:
  struct sigaction before_int_ {};
  struct sigaction before_term_ {};
};

Json summary_of(const TrainConfig& config, const TrainJob& job, const TrainResult& result,
                const TextEntropy& entropy) {
  Json peaks = Json::array();
  for (const Bytes bytes : result.peak_bytes) peaks.push_back(bytes.value);
  Json json{{"name", config.name},
            {"schedule", job.schedule.name},
            {"ranks", job.schedule.rank_count()},
            {"micro_batches", job.schedule.micro_batches},
            {"cut", to_text(job.partition)},
            {"steps", result.loss.size()},
            {"stopped", result.stopped},
            {"loss", result.loss},
            {"eval_loss", nullptr},
            {"unigram_entropy", nullptr},
            {"bigram_entropy", nullptr},
            {"tokens_per_s", result.tokens_per_s},
            {"bubble_measured", result.bubble_measured},
            {"bubble_predicted", result.bubble_predicted},
            {"peak_bytes", peaks},
            {"peak_live", result.peak_live},
            {"peak_live_schedule", peak_live(job.schedule)},
            {"grad_norm", result.grad_norm},
            {"digest", result.digest}};
  if (result.eval_loss) {
    json["eval_loss"] = *result.eval_loss;
    json["unigram_entropy"] = entropy.unigram;
    json["bigram_entropy"] = entropy.bigram;
  }
  return json;
}

void print_summary(const TrainJob& job, const TrainResult& result, const TextEntropy& entropy,
                   const RunFolder& folder) {
  std::vector<std::string> peaks;
  for (const Bytes bytes : result.peak_bytes) peaks.push_back(format_bytes(bytes));
  print_line("");
  if (result.eval_loss)
    print_line(
        fmt::format("held-out loss   {:.4f} nats per byte; entropy of that text: unigram "
                    "{:.4f}, bigram {:.4f}",
                    *result.eval_loss, entropy.unigram, entropy.bigram));
  print_line(fmt::format("speed           {:.0f} tokens/s (median step)", result.tokens_per_s));
  print_line(
      fmt::format("bubble          {:.2f}% measured, {:.2f}% predicted from the same action "
                  "times",
                  100 * result.bubble_measured, 100 * result.bubble_predicted));
  print_line(fmt::format("peak memory     {} (rank 0 to {})", fmt::join(peaks, ", "),
                         job.schedule.rank_count() - 1));
  print_line(fmt::format("digest          {}", result.digest));
  print_line(fmt::format("last step       {}, {} stages of {} layers\n", job.schedule.name,
                         job.partition.stages.size(), to_text(job.partition)));
  print(draw_timeline(result.last_step, {terminal_width(), use_color("auto")}));
  print_line(fmt::format("\nsaved in {}{}", folder.path(),
                         result.stopped ? " (stopped early, as asked)" : ""));
}

int run(const Options& options) {
  const TrainConfig config = load_train_config(options.config, overrides_of(options));
  check(config);
  const Schedule schedule = schedule_of(config);
  if (const auto violations = verify(schedule); !violations.empty())
    return report_violations(config.pipeline.schedule, violations, options.json);
  const TextCorpus corpus = load_text(config.data.text, config.data.held_out, config.data.sequence);
  TextJob text = text_job(config, schedule, corpus);
  RunFolder folder(options.run.empty() ? "runs/" + config.name : options.run);
  // Nothing was written so far; from here on the run owns its folder.
  folder.begin(to_toml(config));

  const TrainJob job = text.job;
  Trainer trainer(text.job);
  const bool shows = !options.json && !options.quiet;
  Progress progress(config.steps, ::isatty(STDOUT_FILENO) == 1);
  TrainResult result;
  {
    const StopOnSignal guard(trainer);
    result = trainer.run([&](const StepReport& report) {
      folder.add_metrics(report);
      if (shows) progress.show(report);
    });
  }
  progress.finish();
  const TextEntropy entropy = text_entropy(corpus.held_out);
  const Json summary = summary_of(config, job, result, entropy);
  folder.write_result(result, summary.dump() + "\n");
  if (options.json)
    print_json(summary);
  else
    print_summary(job, result, entropy, folder);
  return kFine;
}

}  // namespace

void add_train_command(CLI::App& app, Run& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("train", "train a network through a pipeline");
  command->add_option("config", options->config, "the configuration, a TOML file")->required();
  for (std::size_t i = 0; i < std::size(kShortcuts); ++i)
    command->add_option(kShortcuts[i].option, options->shortcuts[i],
                        fmt::format("{} ({})", kShortcuts[i].help, kShortcuts[i].key));
  command->add_option("--set", options->sets, "any key of the configuration: key=value")
      ->allow_extra_args(false);
  command->add_option("--run", options->run, "folder of the run; runs/NAME if not given");
  command->add_flag("--quiet", options->quiet, "no progress, only the summary");
  command->add_flag("--json", options->json, "the summary as JSON, and nothing else");
  command->footer(
      "Example:\n  headrace train examples/fortunes.toml --steps 20 --ranks 2\n\n"
      "Ctrl-C ends the run after the step, with everything saved; twice ends it at once.");
  command->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace headrace::cli
