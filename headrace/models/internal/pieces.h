// SPDX-License-Identifier: Apache-2.0
//
// The pieces that layers are made of. B rows (samples), T tokens, N = B * T, C width.
#pragma once

#include "headrace/models/layer.h"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

namespace headrace::internal {

// y = x W + b with W [in, out], GPT-2's order. x is [N, in].
class Projection {
 public:
  // Weights named PREFIX.weight and PREFIX.bias; normal with `deviation`, bias zero.
  Projection(const std::string& prefix, std::int64_t in, std::int64_t out, double deviation,
             std::uint64_t seed);

  [[nodiscard]] at::Tensor forward(const at::Tensor& x) const;
  // Gives dx; the weight gradient reads x and dy, now or later.
  [[nodiscard]] at::Tensor backward(const at::Tensor& dy, const at::Tensor& x,
                                    WeightGradWork* later);

  Parameter weight;
  Parameter bias;
};

// Layer normalization over the last dimension. Saves its output, mean and 1 / deviation.
class Norm {
 public:
  Norm(const std::string& prefix, std::int64_t width);

  struct Result {
    at::Tensor output;
    at::Tensor mean;
    at::Tensor inverse;
  };
  [[nodiscard]] Result forward(const at::Tensor& x) const;
  [[nodiscard]] at::Tensor backward(const at::Tensor& dy, const at::Tensor& x,
                                    const at::Tensor& mean, const at::Tensor& inverse);

  Parameter weight;
  Parameter bias;
};

[[nodiscard]] Parameter make_parameter(std::string name, at::Tensor value);

// Throws UsageError for the first of the named sizes that is not at least 1.
void require_sizes(const std::string& network,
                   std::initializer_list<std::pair<const char*, std::int64_t>> sizes);

}  // namespace headrace::internal
