// SPDX-License-Identifier: Apache-2.0
#include "headrace/report/grid.h"

#include "headrace/base/error.h"
#include "headrace/schedule/dependency.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

namespace headrace {
namespace {

// ANSI colours that also differ in brightness, so that they can be told apart without hue.
std::string_view color_of(ActionKind kind) {
  switch (kind) {
    case ActionKind::Forward:
      return "\x1b[44;97m";  // blue
    case ActionKind::Backward:
      return "\x1b[42;30m";  // green
    case ActionKind::InputGrad:
      return "\x1b[46;30m";  // cyan
    case ActionKind::WeightGrad:
      return "\x1b[103;30m";  // bright yellow
    default:
      return "\x1b[100;97m";
  }
}

std::string painted(const std::string& text, ActionKind kind, bool color) {
  if (!color) return text;
  // Only the word itself, so that neighbouring cells stay apart.
  const auto end = text.find_last_not_of(' ') + 1;
  return fmt::format("{}{}\x1b[0m{}", color_of(kind), text.substr(0, end), text.substr(end));
}

// One action in the slots of a grid. Columns are slots of unit time.
struct Cell {
  int slot = 0;
  std::string text;
  ActionKind kind = ActionKind::Forward;
};

// Lays the schedule out in unit slots: every compute action takes one, a pair one together.
class UnitLayout {
 public:
  explicit UnitLayout(const Schedule& schedule)
      : schedule_(schedule), table_(schedule), done_(table_.size(), -1) {
    for (const auto& list : schedule.ranks)
      for (const Action& a : list) {
        auto& stages = stages_of_[&list - schedule.ranks.data()];
        if (is_compute(a.kind) && std::find(stages.begin(), stages.end(), a.stage) == stages.end())
          stages.push_back(a.stage);
        names_stage_ = names_stage_ || stages.size() > 1;
      }
    names_stage_ = names_stage_ || schedule.copies.size() > 1;
  }

  std::vector<std::vector<Cell>> run() {
    std::vector<std::vector<Cell>> rows(schedule_.ranks.size());
    std::vector<std::size_t> position(schedule_.ranks.size(), 0);
    std::vector<int> free(schedule_.ranks.size(), 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t r = 0; r < rows.size(); ++r)
        while (step(r, position[r], free[r], rows[r])) moved = true;
    }
    for (std::size_t r = 0; r < rows.size(); ++r)
      if (position[r] != schedule_.ranks[r].size())
        throw UsageError(
            fmt::format("the schedule cannot be drawn: rank {} stands at {} (action "
                        "{}) forever; run verify on it",
                        r, to_text(schedule_.ranks[r][position[r]]), position[r]));
    return rows;
  }

 private:
  bool step(std::size_t rank, std::size_t& position, int& free, std::vector<Cell>& row) {
    const auto& list = schedule_.ranks[rank];
    if (position == list.size()) return false;
    const std::size_t width = list[position].overlaps_next && position + 1 < list.size() ? 2 : 1;
    int slot = free;
    for (std::size_t i = 0; i < width; ++i)
      if (!ready(list[position + i], slot)) return false;
    if (!is_compute(list[position].kind)) {
      if (!is_send(list[position].kind) && !is_receive(list[position].kind))
        add_mark(list[position], row);
      ++position;
      return true;
    }
    std::string text;
    for (std::size_t i = 0; i < width; ++i) {
      const Action& a = list[position + i];
      text += (i > 0 ? "+" : "") + name(a);
      finish(a, slot + 1);
    }
    row.push_back({slot, text, list[position].kind});
    free = slot + 1;
    position += width;
    return true;
  }

  // Evictions and the like take no slot; they are written to the cell before them.
  static void add_mark(const Action& a, std::vector<Cell>& row) {
    if (row.empty()) return;
    if (a.kind == ActionKind::Evict) row.back().text += "e";
    if (a.kind == ActionKind::Load) row.back().text += "l";
  }

  bool ready(const Action& a, int& slot) const {
    for (const Need& need : needs_of(a, schedule_.stage_count(), schedule_.slices)) {
      const int done = done_[table_.at(need.kind, need.stage, a.micro_batch, need.slice)];
      if (done < 0) return false;
      slot = std::max(slot, done);
    }
    return true;
  }

  void finish(const Action& a, int slot) {
    if (a.kind == ActionKind::WeightGrad) return;
    const ResultKind kind =
        a.kind == ActionKind::Forward ? ResultKind::Output : ResultKind::InputGrad;
    done_[table_.at(kind, a.stage, a.micro_batch, a.slice)] = slot;
  }

  std::string name(const Action& a) const {
    std::string text = names_stage_ ? fmt::format("{}", a.stage.value) : "";
    text += fmt::format("{}{}", kind_token(a.kind), a.micro_batch.value);
    if (schedule_.slices > 1) text += fmt::format(".{}", a.slice);
    return text;
  }

  const Schedule& schedule_;
  ResultTable table_;
  std::vector<int> done_;  // first slot in which the result is there
  std::map<std::ptrdiff_t, std::vector<StageId>> stages_of_;
  bool names_stage_ = false;
};

std::string without_trailing_blanks(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

// One block of rows: slots [first, last) of every rank, under a ruler.
void draw_block(const std::vector<std::vector<Cell>>& rows, int first, int last, std::size_t width,
                std::size_t label, bool color, std::string& out) {
  std::string ruler = fmt::format("{:<{}}", "time", label);
  for (int slot = first; slot < last; ++slot) ruler += fmt::format("{:<{}}", slot, width);
  out += without_trailing_blanks(ruler) + "\n";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string line = fmt::format("{:<{}}", fmt::format("rank {}", r), label);
    std::size_t at = 0;
    while (at < rows[r].size() && rows[r][at].slot < first) ++at;
    for (int slot = first; slot < last; ++slot) {
      const bool busy = at < rows[r].size() && rows[r][at].slot == slot;
      const std::string cell = fmt::format("{:<{}}", busy ? rows[r][at].text : ".", width);
      line += busy ? painted(cell, rows[r][at].kind, color) : cell;
      if (busy) ++at;
    }
    out += (color ? line : without_trailing_blanks(line)) + "\n";
  }
}

}  // namespace

std::string draw_schedule(const Schedule& schedule, const GridOptions& options) {
  const auto rows = UnitLayout(schedule).run();
  std::size_t width = 2;
  int slots = 0;
  for (const auto& row : rows)
    for (const Cell& cell : row) {
      width = std::max(width, cell.text.size() + 1);
      slots = std::max(slots, cell.slot + 1);
    }
  width = std::max(width, fmt::format("{}", slots).size() + 1);
  const std::size_t label = fmt::format("rank {}", rows.size() - 1).size() + 3;
  const int room = options.width - static_cast<int>(label);
  const int per_block = std::max(1, room / static_cast<int>(width));
  std::string out;
  for (int first = 0; first < slots; first += per_block) {
    if (first > 0) out += "\n";
    draw_block(rows, first, std::min(slots, first + per_block), width, label, options.color, out);
  }
  return out;
}

}  // namespace headrace
