// SPDX-License-Identifier: Apache-2.0
//
// How commands print.
#pragma once

#include "headrace/schedule/verify.h"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace headrace::cli {

using Json = nlohmann::ordered_json;

// `when` is "auto", "always" or "never"; auto means a terminal, and NO_COLOR is obeyed.
[[nodiscard]] bool use_color(const std::string& when);

// Columns of the terminal, or 80.
[[nodiscard]] int terminal_width();

void print(std::string_view text);
void print_line(std::string_view text);
void print_json(const Json& json);
void print_error(std::string_view text);  // to standard error

// Rows of equal length under a header, columns aligned: numbers to the right, text to the left.
[[nodiscard]] std::string table(const std::vector<std::vector<std::string>>& rows);

// Prints what is wrong with a schedule and returns the exit code of a finding.
int report_violations(const std::string& source, const std::vector<Violation>& violations,
                      bool json);

}  // namespace headrace::cli
