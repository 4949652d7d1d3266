// SPDX-License-Identifier: Apache-2.0
#include "headrace/cli/output.h"

#include "headrace/cli/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>

namespace headrace::cli {

bool use_color(const std::string& when) {
  if (when != "auto") return when == "always";
  const char* no_color = std::getenv("NO_COLOR");
  return ::isatty(STDOUT_FILENO) == 1 && (no_color == nullptr || *no_color == '\0');
}

int terminal_width() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) != 1 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 80;
  return size.ws_col >= 40 ? size.ws_col : 80;
}

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void print_line(std::string_view text) {
  print(text);
  print("\n");
}

void print_json(const Json& json) {
  print_line(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void print_error(std::string_view text) {
  const std::string line = fmt::format("headrace: {}\n", text);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

namespace {

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.,%-") == std::string::npos;
}

}  // namespace

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  std::vector<bool> right(rows.front().size(), true);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t c = 0; c < rows[r].size(); ++c) {
      widths[c] = std::max(widths[c], rows[r][c].size());
      if (r > 0 && !is_number(rows[r][c])) right[c] = false;
    }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c)
      line += right[c] ? fmt::format("{:>{}}  ", row[c], widths[c])
                       : fmt::format("{:<{}}  ", row[c], widths[c]);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

int report_violations(const std::string& source, const std::vector<Violation>& violations,
                      bool json) {
  if (json) {
    Json list = Json::array();
    for (const Violation& v : violations)
      list.push_back({{"rule", rule_name(v.rule)},
                      {"rank", v.rank},
                      {"action", v.position},
                      {"message", v.message}});
    print_json({{"ok", false}, {"source", source}, {"violations", list}});
    return kFinding;
  }
  for (const Violation& v : violations)
    print_line(fmt::format("{}: {}: {}", source, rule_name(v.rule), v.message));
  print_line(fmt::format("{} violation{}", violations.size(), violations.size() == 1 ? "" : "s"));
  return kFinding;
}

}  // namespace headrace::cli
