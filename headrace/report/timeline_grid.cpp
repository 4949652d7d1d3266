// SPDX-License-Identifier: Apache-2.0
#include "headrace/report/grid.h"
#include "headrace/timeline/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace headrace {
namespace {

char letter_of(ActionKind kind) {
  switch (kind) {
    case ActionKind::Forward:
      return 'F';
    case ActionKind::Backward:
      return 'B';
    case ActionKind::InputGrad:
      return 'I';
    case ActionKind::WeightGrad:
      return 'W';
    case ActionKind::Recompute:
      return 'R';
    case ActionKind::Update:
      return 'U';
    default:
      return '-';
  }
}

std::string_view color_of(char letter) {
  switch (letter) {
    case 'F':
      return "\x1b[44;97m";
    case 'B':
      return "\x1b[42;30m";
    case 'I':
      return "\x1b[46;30m";
    case 'W':
      return "\x1b[103;30m";
    case '.':
      return "";
    default:
      return "\x1b[100;97m";
  }
}

// Which action fills most of each column, and '.' where the rank mostly waits.
class Row {
 public:
  Row(const RankTimeline& rank, Time first, Time whole, int columns)
      : letters_(static_cast<std::size_t>(columns), '.') {
    const auto count = static_cast<std::size_t>(columns);
    std::vector<std::int64_t> most(count, 0);
    std::vector<std::int64_t> busy(count, 0);
    for (const TimedAction& timed : rank.actions)
      add(timed, first, whole.count(), columns, most, busy);
    for (std::size_t c = 0; c < count; ++c) {
      const std::int64_t width =
          edge(c + 1, whole.count(), columns) - edge(c, whole.count(), columns);
      if (2 * busy[c] < width) letters_[c] = '.';
    }
  }

  [[nodiscard]] std::string text(bool color) const {
    if (!color) return letters_;
    std::string out;
    for (std::size_t c = 0; c < letters_.size(); ++c) {
      const bool begins = c == 0 || letters_[c] != letters_[c - 1];
      if (begins && letters_[c] != '.') out += color_of(letters_[c]);
      out += letters_[c];
      const bool ends = c + 1 == letters_.size() || letters_[c] != letters_[c + 1];
      if (ends && letters_[c] != '.') out += "\x1b[0m";
    }
    return out;
  }

 private:
  static std::int64_t edge(std::size_t column, std::int64_t whole, int columns) {
    __extension__ using Wide = __int128;
    return static_cast<std::int64_t>(Wide{whole} * static_cast<std::int64_t>(column) / columns);
  }

  void add(const TimedAction& timed, Time first, std::int64_t whole, int columns,
           std::vector<std::int64_t>& most, std::vector<std::int64_t>& busy) {
    const std::int64_t start = (timed.start - first).count();
    const std::int64_t end = (timed.end - first).count();
    if (whole == 0 || end <= start) return;
    __extension__ using Wide = __int128;
    auto column = static_cast<std::size_t>(Wide{start} * columns / whole);
    for (; column < letters_.size() && edge(column, whole, columns) < end; ++column) {
      const std::int64_t from = std::max(start, edge(column, whole, columns));
      const std::int64_t to = std::min(end, edge(column + 1, whole, columns));
      if (to <= from) continue;
      busy[column] += to - from;
      if (to - from <= most[column]) continue;
      most[column] = to - from;
      letters_[column] = letter_of(timed.action.kind);
    }
  }

  std::string letters_;
};

}  // namespace

std::string draw_timeline(const Timeline& timeline, const GridOptions& options) {
  const Metrics metrics = measure(timeline);
  Time first = Time::max();
  for (const RankTimeline& rank : timeline.ranks)
    if (!rank.actions.empty()) first = std::min(first, rank.actions.front().start);
  const std::size_t label = fmt::format("rank {}", timeline.ranks.size()).size() + 2;
  constexpr int kTail = 14;  // "  bubble 12.3%"
  const int columns = std::max(10, options.width - static_cast<int>(label) - kTail);
  std::string out;
  for (std::size_t r = 0; r < timeline.ranks.size(); ++r) {
    const Row row(timeline.ranks[r], first == Time::max() ? Time(0) : first, metrics.makespan,
                  columns);
    out += fmt::format("{:<{}}{}  bubble {:>4.1f}%\n", fmt::format("rank {}", r), label,
                       row.text(options.color), 100 * metrics.rank_bubble[r]);
  }
  const std::string end = format_time(metrics.makespan);
  out += fmt::format("{:<{}}0{:>{}}\n", "", label, end, columns - 1);
  return out;
}

}  // namespace headrace
