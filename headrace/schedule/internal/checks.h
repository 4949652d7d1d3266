// SPDX-License-Identifier: Apache-2.0
//
// The parts of verify(), in the order in which it runs them.
#pragma once

#include "headrace/schedule/internal/action_index.h"
#include "headrace/schedule/internal/violations.h"
#include "headrace/schedule/schedule.h"

namespace headrace::internal {

// Placement, flow, hosts and versions fit the sizes; the sizes fit the number of actions.
void check_shape(const Schedule& schedule, Violations& found);

// Every action is known, on its rank, and there once; fills `index`.
void check_places(const Schedule& schedule, ActionIndex& index, Violations& found);

// Nothing is missing: F, and B or I and W, for each (stage, micro-batch, slice).
void check_complete(const Schedule& schedule, const ActionIndex& index, Violations& found);

// On each rank, what an action needs from its own rank comes earlier; pairs are pairs.
void check_order(const Schedule& schedule, const ActionIndex& index, Violations& found);

// Lowered lists: both ends of each message, after its producer and before its reader.
void check_messages(const Schedule& schedule, const ActionIndex& index, Violations& found);

// Evicted activations come back before they are used (BPipe).
void check_evictions(const Schedule& schedule, Violations& found);

// Asynchronous schedules: versions exist when read, and no more are held than declared.
void check_weight_versions(const Schedule& schedule, Violations& found);

}  // namespace headrace::internal
