// SPDX-License-Identifier: Apache-2.0
//
// Walks one rank's list: waits for what the action needs, runs it, hands the results on.
//
//   list of the rank ──► action ──► input: own store (same rank) or endpoint (another rank)
//                                     │
//                                     ▼
//                        StageCompute: forward / backward / weight_grad
//                                     │
//                                     ▼
//                        output: own store, or sent at once ──► next action
#pragma once

#include "headrace/execute/stage_compute.h"
#include "headrace/schedule/schedule.h"
#include "headrace/timeline/timeline.h"
#include "headrace/transport/endpoint.h"

#include <chrono>
#include <cstdint>

namespace headrace {

// What one pass over a rank's list needs beside the list.
struct StepContext {
  std::int64_t step = 0;                            // part of every message's name
  std::chrono::steady_clock::time_point started{};  // zero of the measured timeline
  std::chrono::nanoseconds timeout{};               // longest wait for one message
};

// Runs the actions of endpoint.rank() in `schedule`, which must verify, and returns when each ran.
// Sends and receives of a lowered list are statements about order and take no part. Results go out
// the moment they are made.
//
// Throws what the compute threw, as ComputeError that names rank, action, stage and micro-batch,
// after endpoint.abort(); TransportError when a wait passes its deadline, also after an abort;
// CanceledError when another rank failed first.
[[nodiscard]] RankTimeline run_step(const Schedule& schedule, StageCompute& compute,
                                    Endpoint& endpoint, const StepContext& context);

}  // namespace headrace
