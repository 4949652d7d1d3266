// SPDX-License-Identifier: Apache-2.0
//
// A parameter and its gradient, which micro-batches accumulate in place.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace headrace {

// `name` is global (the same whatever the cut) and follows Hugging Face's names.
struct Parameter {
  std::string name;
  at::Tensor value;
  // As large as `value`; what it holds means something only while `has_grad`.
  at::Tensor grad;
  bool has_grad = false;
  // Not empty for a further use of another parameter, such as an output layer that shares the token
  // embedding: the name of that owner. Each use has a gradient of its own; the runtime adds them.
  std::string tied_to;
  // Weight decay applies (matrices, by convention).
  bool decays = false;
};

// grad = x^T y for the first micro-batch of a step, grad += x^T y after that, in the product
// itself: there is never a second buffer. x is [N, rows], y is [N, columns].
void accumulate_product(Parameter& parameter, const at::Tensor& x, const at::Tensor& y);

// The same for the sum of `rows` [N, columns] over N, and for a gradient that is ready.
void accumulate_rows(Parameter& parameter, const at::Tensor& rows);
void accumulate(Parameter& parameter, const at::Tensor& grad);

// The same for rows[i] added to row indices[i]; rows is [N, columns], indices [N] of int64.
void accumulate_indexed(Parameter& parameter, const at::Tensor& indices, const at::Tensor& rows);

}  // namespace headrace
