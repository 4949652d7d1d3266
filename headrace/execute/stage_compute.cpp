// SPDX-License-Identifier: Apache-2.0
#include "headrace/execute/stage_compute.h"

#include "headrace/base/error.h"

namespace headrace {
namespace {

[[noreturn]] void refuse(const Action& action) {
  throw UsageError(fmt::format("this compute cannot run {}; use a schedule without {}.",
                               to_text(action), kind_token(action.kind)));
}

}  // namespace

void StageCompute::recompute(const Action& action) {
  refuse(action);
}
void StageCompute::evict(const Action& action) {
  refuse(action);
}
void StageCompute::load(const Action& action) {
  refuse(action);
}
void StageCompute::reduce_grad(const Action& action) {
  refuse(action);
}
void StageCompute::update(const Action& action) {
  refuse(action);
}

}  // namespace headrace
