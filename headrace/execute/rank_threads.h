// SPDX-License-Identifier: Apache-2.0
//
// One thread per rank, and one error out of many.
//
//   run_ranks ──┬─► thread "rank 0" ── body(0) ──┬─► join all ─► return, or throw the root cause
//               ├─► thread "rank 1" ── body(1) ──┤
//               └─► thread "rank 2" ── body(2) ──┘
#pragma once

#include "headrace/base/ids.h"

#include <functional>
#include <string>

namespace headrace {

// Runs body(rank) for the ranks 0 .. ranks-1, each in a thread of its own, and returns when all
// have ended. If some threw, throws what was thrown first; a CanceledError, which says that another
// rank failed, only if nothing else was thrown.
//
// The thread that throws first calls on_failure(what) at once: that must end the waits of the
// others, as Endpoint::abort does, else they are joined only when they end by themselves.
void run_ranks(int ranks, const std::function<void(RankId)>& body,
               const std::function<void(const std::string&)>& on_failure = {});

}  // namespace headrace
