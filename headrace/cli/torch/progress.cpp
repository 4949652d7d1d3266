// SPDX-License-Identifier: Apache-2.0
#include "headrace/cli/torch/progress.h"

#include "headrace/cli/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace headrace::cli {
namespace {

constexpr int kLongestBar = 20;
constexpr int kShortestBar = 5;

// "[####------] step 5/10 ..." on one line of the terminal, or the next could not take its place:
// first the bar gets shorter, then it is left out.
std::string with_bar(double share, const std::string& text) {
  const int room = terminal_width() - 1;
  const int bar = std::min(kLongestBar, room - static_cast<int>(text.size()) - 3);
  if (bar < kShortestBar) return text.substr(0, static_cast<std::size_t>(std::max(1, room)));
  const int full = static_cast<int>(share * bar);
  return "[" + std::string(static_cast<std::size_t>(full), '#') +
         std::string(static_cast<std::size_t>(bar - full), '-') + "] " + text;
}

}  // namespace

Progress::Progress(int steps, bool terminal)
    : steps_(steps), terminal_(terminal), start_(std::chrono::steady_clock::now()) {}

std::string Progress::line(const StepReport& report) const {
  const auto done = static_cast<double>(report.step + 1);
  const double elapsed =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const double left = elapsed / done * (steps_ - done);
  std::string text = fmt::format(
      "step {}/{}  loss {:.4f}  {:.0f} tokens/s  bubble {:.1f}%  {:.0f} s left", report.step + 1,
      steps_, report.loss, report.tokens_per_s, 100 * report.bubble, left);
  if (report.eval_loss) text += fmt::format("  held-out {:.4f}", *report.eval_loss);
  return text;
}

void Progress::show(const StepReport& report) {
  const auto now = std::chrono::steady_clock::now();
  const bool last = report.step + 1 == steps_;
  const auto pause = terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(2000);
  if (report.step > 0 && !last && !report.eval_loss && now - shown_ < pause) return;
  shown_ = now;
  if (!terminal_ || report.eval_loss) {
    // An evaluation stays on the screen, above the bar.
    print_line((open_ ? "\r\x1b[K" : "") + line(report));
    open_ = false;
  } else {
    print("\r\x1b[K" + with_bar((report.step + 1.0) / steps_, line(report)));
    open_ = true;
  }
  std::fflush(stdout);
}

void Progress::finish() {
  if (open_) print_line("");
  open_ = false;
}

}  // namespace headrace::cli
