// SPDX-License-Identifier: Apache-2.0
#include "headrace/models/parameter.h"

#include "headrace/base/error.h"

#include <ATen/ATen.h>

namespace headrace {
namespace {

// The buffer to add into; true if it holds nothing yet, so that the caller overwrites it.
bool begin(Parameter& parameter) {
  if (!parameter.grad.defined()) parameter.grad = at::empty_like(parameter.value);
  const bool first = !parameter.has_grad;
  parameter.has_grad = true;
  return first;
}

}  // namespace

void accumulate_product(Parameter& parameter, const at::Tensor& x, const at::Tensor& y) {
  // beta = 0 does not read the buffer, so it need not be cleared.
  const int beta = begin(parameter) ? 0 : 1;
  at::addmm_out(parameter.grad, parameter.grad, x.t(), y, beta, 1);
}

void accumulate_rows(Parameter& parameter, const at::Tensor& rows) {
  if (begin(parameter))
    at::sum_out(parameter.grad, rows, {0});
  else
    parameter.grad.add_(rows.sum(0));
}

void accumulate(Parameter& parameter, const at::Tensor& grad) {
  HEADRACE_CHECK(grad.sizes() == parameter.value.sizes(), "gradient of {} has another shape",
                 parameter.name);
  if (begin(parameter))
    parameter.grad.copy_(grad);
  else
    parameter.grad.add_(grad);
}

void accumulate_indexed(Parameter& parameter, const at::Tensor& indices, const at::Tensor& rows) {
  if (begin(parameter)) parameter.grad.zero_();
  parameter.grad.index_add_(0, indices, rows);
}

}  // namespace headrace
