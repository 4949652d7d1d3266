// SPDX-License-Identifier: Apache-2.0
//
// A machine as a file that is written by hand:
//
//   ranks = 4
//   memory = "80GiB"        # of each rank; no limit where it is left out
//   links_contend = true
//
//   [link]                  # between any two ranks, unless named below
//   latency = "5us"
//   bandwidth = 25e9        # bytes per second; infinite where it is left out
//
//   [[rank]]                # a rank that differs from the others
//   number = 3
//   speed_permille = 500
//
//   [[links]]               # one direction that differs from the others
//   from = 1
//   to = 2
//   latency = "30us"
//   bandwidth = 3e9
#pragma once

#include "headrace/cost/machine.h"

#include <string>
#include <string_view>

namespace headrace {

// `source` is named in messages. Throws ParseError "FILE:LINE:COLUMN: ..." for malformed TOML, an
// unknown, double or missing key, a wrong type or a number out of range.
[[nodiscard]] Machine parse_machine(std::string_view toml, std::string_view source);

// The same from a file; IoError when it cannot be read.
[[nodiscard]] Machine load_machine(const std::string& path);

// Reads back to an equal value, for one rank or more.
[[nodiscard]] std::string to_toml(const Machine& machine);

}  // namespace headrace
