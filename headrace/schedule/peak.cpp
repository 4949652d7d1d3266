// SPDX-License-Identifier: Apache-2.0
#include "headrace/schedule/peak.h"

#include <algorithm>

namespace headrace {

std::vector<int> peak_live(const Schedule& schedule) {
  bool forward_only = true;
  for (const auto& list : schedule.ranks)
    for (const Action& a : list)
      if (is_compute(a.kind) && a.kind != ActionKind::Forward) forward_only = false;

  std::vector<int> peaks;
  for (const auto& list : schedule.ranks) {
    int live = 0;
    int peak = 0;
    for (const Action& a : list) {
      if (a.kind == ActionKind::Forward || a.kind == ActionKind::Load)
        peak = std::max(peak, ++live);
      const bool releases = a.kind == ActionKind::Backward || a.kind == ActionKind::WeightGrad ||
                            a.kind == ActionKind::Evict ||
                            (forward_only && a.kind == ActionKind::Forward);
      if (releases) --live;
    }
    peaks.push_back(peak);
  }
  return peaks;
}

}  // namespace headrace
