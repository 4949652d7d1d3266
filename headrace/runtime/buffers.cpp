// SPDX-License-Identifier: Apache-2.0
#include "headrace/runtime/buffers.h"

#include <ATen/ATen.h>
#include <ATen/ops/from_blob.h>

#include <utility>

namespace headrace {
namespace {

// Its type marks the buffers whose owner is a tensor.
struct DeleteTensor {
  void operator()(at::Tensor* tensor) const { delete tensor; }
};

}  // namespace

Buffer to_buffer(at::Tensor tensor) {
  Buffer buffer;
  if (!tensor.defined()) {
    buffer.defined = false;
    return buffer;
  }
  tensor = tensor.detach().contiguous();
  buffer.data = static_cast<std::byte*>(tensor.data_ptr());
  buffer.size = tensor.nbytes();
  buffer.dtype = static_cast<std::int32_t>(tensor.scalar_type());
  buffer.shape = tensor.sizes().vec();
  buffer.requires_grad = tensor.is_floating_point();
  buffer.owner = std::shared_ptr<at::Tensor>(new at::Tensor(std::move(tensor)), DeleteTensor{});
  return buffer;
}

Values to_values(Tensors tensors) {
  Values values;
  for (at::Tensor& tensor : tensors) values.push_back(to_buffer(std::move(tensor)));
  return values;
}

at::Tensor to_tensor(Buffer buffer) {
  if (!buffer.defined) return {};
  if (std::get_deleter<DeleteTensor>(buffer.owner) != nullptr)
    return *static_cast<at::Tensor*>(buffer.owner.get());
  const auto type = at::TensorOptions().dtype(static_cast<at::ScalarType>(buffer.dtype));
  void* data = buffer.data;
  return at::from_blob(
      data, buffer.shape, [owner = std::move(buffer.owner)](void*) mutable { owner.reset(); },
      type);
}

Tensors to_tensors(Values values) {
  Tensors tensors;
  for (Buffer& buffer : values) tensors.push_back(to_tensor(std::move(buffer)));
  return tensors;
}

}  // namespace headrace
