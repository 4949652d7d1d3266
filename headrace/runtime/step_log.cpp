// SPDX-License-Identifier: Apache-2.0
#include "headrace/runtime/internal/step_log.h"

#include "headrace/runtime/predict.h"
#include "headrace/timeline/metrics.h"

#include <algorithm>
#include <numeric>

namespace headrace::internal {
namespace {

constexpr std::size_t kRecent = 20;

// Times from the start of the step instead of the run.
void start_at_zero(Timeline& timeline) {
  Time first = Time::max();
  for (const RankTimeline& rank : timeline.ranks)
    if (!rank.actions.empty()) first = std::min(first, rank.actions.front().start);
  for (RankTimeline& rank : timeline.ranks) {
    for (TimedAction& timed : rank.actions) {
      timed.start -= first;
      timed.end -= first;
    }
    for (MemoryPoint& point : rank.memory) point.at -= first;
  }
}

double seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

StepLog::StepLog(const TrainJob& job, std::function<void(const StepReport&)> progress)
    : job_(job),
      progress_(std::move(progress)),
      last_end_(Clock::now()),
      peak_live_(job.schedule.ranks.size(), 0) {}

void StepLog::add(std::int64_t step, RankId rank, RankReport report) {
  const std::lock_guard lock(mutex_);
  Open& open = open_[step];
  open.ranks.resize(job_.schedule.ranks.size());
  open.ranks[rank.index()] = std::move(report);
  if (++open.reported < job_.schedule.rank_count()) return;
  Open whole = std::move(open);
  open_.erase(step);
  close(step, std::move(whole));
}

void StepLog::close(std::int64_t step, Open open) {
  StepReport report;
  report.step = step;
  Timeline timeline;
  timeline.name = job_.schedule.name;
  Clock::time_point end = open.ranks.front().ended;
  Clock::duration evaluating{};
  for (std::size_t r = 0; r < open.ranks.size(); ++r) {
    RankReport& rank = open.ranks[r];
    if (!rank.losses.empty())
      report.loss = std::accumulate(rank.losses.begin(), rank.losses.end(), 0.0);
    if (rank.eval_loss) report.eval_loss = rank.eval_loss;
    end = std::max(end, rank.ended);
    evaluating = std::max(evaluating, rank.evaluating);
    peak_live_[r] = std::max(peak_live_[r], rank.timeline.peak_live);
    timeline.ranks.push_back(std::move(rank.timeline));
  }
  start_at_zero(timeline);
  report.grad_norm = open.ranks.front().grad_norm;
  report.learning_rate = open.ranks.front().learning_rate;
  report.step_time = std::chrono::duration_cast<Time>(end - last_end_);
  report.tokens_per_s = static_cast<double>(job_.tokens_per_step) / seconds(end - last_end_);
  report.bubble = measure(timeline).bubble;
  last_end_ = end + evaluating;

  losses_.push_back(report.loss);
  norms_.push_back(report.grad_norm);
  step_seconds_.push_back(seconds(report.step_time));
  if (report.eval_loss) eval_loss_ = report.eval_loss;
  recent_.push_back(std::move(timeline));
  if (recent_.size() > kRecent) recent_.pop_front();
  if (progress_) progress_(report);
}

void StepLog::write(TrainResult& result) const {
  result.loss = losses_;
  result.grad_norm = norms_;
  result.eval_loss = eval_loss_;
  result.peak_live = peak_live_;
  if (losses_.empty()) return;
  // The first step pays for fresh memory and first calls of kernels.
  const std::vector<double> warm(step_seconds_.begin() + (step_seconds_.size() > 1 ? 1 : 0),
                                 step_seconds_.end());
  result.tokens_per_s = static_cast<double>(job_.tokens_per_step) / median(warm);
  std::vector<double> measured;
  std::vector<double> predicted;
  for (const Timeline& timeline : recent_) {
    measured.push_back(measure(timeline).bubble);
    predicted.push_back(measure(predict(timeline, job_.schedule)).bubble);
  }
  result.bubble_measured = median(measured);
  result.bubble_predicted = median(predicted);
  result.last_step = recent_.back();
}

}  // namespace headrace::internal
