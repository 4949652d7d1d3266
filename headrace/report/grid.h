// SPDX-License-Identifier: Apache-2.0
//
// Text pictures of a schedule or a timeline: a row per rank, time from left to right.
//
//   rank 0   F0 F1 F2 .  .  B0 F3 B1 .  B2 .  B3
//   rank 1   .  F0 F1 .  B0 F2 B1 F3 B2 .  B3 .
//   rank 2   .  .  F0 B0 F1 B1 F2 B2 F3 B3 .  .
#pragma once

#include "headrace/schedule/schedule.h"
#include "headrace/timeline/timeline.h"

#include <string>

namespace headrace {

struct GridOptions {
  int width = 80;      // columns; wider pictures are cut into blocks of rows below each other
  bool color = false;  // ANSI colours: one per kind of action
};

// The schedule at unit costs (F, I and W take 1 slot, a fused B takes 1 as well): one cell per
// slot. The stage is printed in the cell only where a rank holds several stages.
[[nodiscard]] std::string draw_schedule(const Schedule& schedule, const GridOptions& options = {});

// The timeline to scale: the whole makespan fits in the width, so short actions may share a column.
// Each row ends with the rank's bubble.
[[nodiscard]] std::string draw_timeline(const Timeline& timeline, const GridOptions& options = {});

}  // namespace headrace
