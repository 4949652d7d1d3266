// SPDX-License-Identifier: Apache-2.0
#include "headrace/runtime/digest.h"

#include "headrace/base/sha256.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace {
namespace {

void add(Sha256& hash, const NamedTensor& named) {
  const at::Tensor dense = named.tensor.contiguous();
  hash.update(fmt::format("{} {} [{}]\n", named.name, static_cast<int>(dense.scalar_type()),
                          fmt::join(dense.sizes(), ",")));
  hash.update(std::span(static_cast<const std::byte*>(dense.data_ptr()), dense.nbytes()));
}

}  // namespace

std::string digest_of(std::span<const double> losses, std::span<const NamedTensor> weights,
                      std::span<const NamedTensor> optimizer) {
  Sha256 hash;
  hash.update(fmt::format("{} losses\n", losses.size()));
  hash.update(std::as_bytes(losses));
  for (const NamedTensor& named : weights) add(hash, named);
  for (const NamedTensor& named : optimizer) add(hash, named);
  return hash.hex_digest();
}

}  // namespace headrace
