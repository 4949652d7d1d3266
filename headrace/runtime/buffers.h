// SPDX-License-Identifier: Apache-2.0
//
// Tensors as the buffers that travel between stages, and back, without copying.
#pragma once

#include "headrace/execute/stage_compute.h"
#include "headrace/models/layer.h"

namespace headrace {

// The buffer keeps the tensor alive. A tensor that is not dense is made so first; an undefined one
// becomes a buffer without a value.
[[nodiscard]] Buffer to_buffer(at::Tensor tensor);
[[nodiscard]] Values to_values(Tensors tensors);

// The tensor that to_buffer() got, or a tensor over the buffer's memory where that came from
// elsewhere; the memory stays alive as long as the tensor does.
[[nodiscard]] at::Tensor to_tensor(Buffer buffer);
[[nodiscard]] Tensors to_tensors(Values values);

}  // namespace headrace
