// SPDX-License-Identifier: Apache-2.0
//
// Every method by its name. Each generator is also a function in the header of its idea.
#pragma once

#include "headrace/schedule/cost_model.h"
#include "headrace/schedule/schedule.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

// What is asked for. A generator refuses, with a message that names working values, what its method
// does not define, and options that it does not know: nothing is ever silently different.
struct ScheduleRequest {
  std::string method;
  int ranks = 1;
  int micro_batches = 1;
  // 0 means: not given, the method's own default.
  int stages_per_rank = 0;
  int group = 0;               // micro-batches per group (interleaved) or per update (2bw)
  int waves = 0;               // hanayo
  int pairs = 0;               // chimera
  int slices = 0;              // terapipe, seq1f1b
  int in_flight = 0;           // 1f1b: most micro-batches in flight per rank (DAPPLE's D)
  bool reverse = false;        // gpipe: last micro-batch first in the backward
  bool vertical_sync = false;  // pipedream: every stage uses the version of stage 0
  ScheduleCosts costs = {};    // zb-1p, zb-2p: what they are made for
};

// One row of the table of methods.
struct Method {
  std::string name;
  std::string summary;   // one line
  std::string bubble;    // formula at equal costs, in p, v, m
  std::string peak;      // live activations on the worst rank
  std::string weights;   // copies or versions of the weights
  std::string messages;  // per micro-batch, over all ranks
  std::string limits;    // what p, m, v it is defined for
  std::string source;    // paper or system
};

// All methods, in the order of the documentation.
[[nodiscard]] const std::vector<Method>& methods();
[[nodiscard]] std::vector<std::string> method_names();

// Makes the schedule, without transfers, and verifies it. Throws UsageError for a method that does
// not exist (with the nearest name), for sizes below 1 and for sizes the method does not define.
[[nodiscard]] Schedule generate(const ScheduleRequest& request);

}  // namespace headrace
