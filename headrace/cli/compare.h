// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headrace/cli/cost_options.h"
#include "headrace/cli/schedule_options.h"

namespace headrace::cli {

// Prints a table of all methods (or of the one that is named) at the given sizes and costs:
// makespan, span, bubbles, peak, messages; a method that refuses the sizes says why. Options of
// single methods count for those that take them. Times are per stage of a rank that holds one
// stage: a method with v stages per rank has stages of 1/v of that. Returns the exit code.
int compare_methods(const ScheduleOptions& schedule, const CostOptions& costs, bool json);

}  // namespace headrace::cli
