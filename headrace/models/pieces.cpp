// SPDX-License-Identifier: Apache-2.0
#include "headrace/models/internal/pieces.h"

#include "headrace/base/error.h"
#include "headrace/models/initial.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

namespace headrace::internal {
namespace {

constexpr double kNormEpsilon = 1e-5;

}  // namespace

Parameter make_parameter(std::string name, at::Tensor value) {
  Parameter parameter;
  parameter.name = std::move(name);
  parameter.decays = value.dim() >= 2;
  parameter.value = std::move(value);
  return parameter;
}

void require_sizes(const std::string& network,
                   std::initializer_list<std::pair<const char*, std::int64_t>> sizes) {
  for (const auto& [name, size] : sizes)
    if (size < 1)
      throw UsageError(fmt::format("{}: {} is {}; it must be at least 1", network, name, size));
}

Projection::Projection(const std::string& prefix, std::int64_t in, std::int64_t out,
                       double deviation, std::uint64_t seed)
    : weight(make_parameter(prefix + ".weight",
                            normal_weights(seed, prefix + ".weight", {in, out}, deviation))),
      bias(make_parameter(prefix + ".bias", at::zeros({out}, at::kFloat))) {}

at::Tensor Projection::forward(const at::Tensor& x) const {
  return at::addmm(bias.value, x, weight.value);
}

at::Tensor Projection::backward(const at::Tensor& dy, const at::Tensor& x, WeightGradWork* later) {
  at::Tensor dx = at::mm(dy, weight.value.t());
  now_or_later(later, [this, x, dy] {
    accumulate_product(weight, x, dy);
    accumulate_rows(bias, dy);
  });
  return dx;
}

Norm::Norm(const std::string& prefix, std::int64_t width)
    : weight(make_parameter(prefix + ".weight", at::ones({width}, at::kFloat))),
      bias(make_parameter(prefix + ".bias", at::zeros({width}, at::kFloat))) {}

Norm::Result Norm::forward(const at::Tensor& x) const {
  auto [output, mean, inverse] =
      at::native_layer_norm(x, weight.value.sizes(), weight.value, bias.value, kNormEpsilon);
  return {std::move(output), std::move(mean), std::move(inverse)};
}

at::Tensor Norm::backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& mean,
                          const at::Tensor& inverse) {
  auto [dx, dweight, dbias] = at::native_layer_norm_backward(
      dy, x, weight.value.sizes(), mean, inverse, weight.value, bias.value, {true, true, true});
  accumulate(weight, dweight);
  accumulate(bias, dbias);
  return dx;
}

}  // namespace headrace::internal
