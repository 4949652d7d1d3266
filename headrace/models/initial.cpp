// SPDX-License-Identifier: Apache-2.0
#include "headrace/models/initial.h"

#include "headrace/base/random.h"

#include <ATen/ATen.h>

#include <cmath>
#include <numbers>

namespace headrace {
namespace {

// Uniform in (0, 1): never 0, whose logarithm is infinite.
double unit(std::uint32_t word) {
  return (static_cast<double>(word) + 0.5) / 4294967296.0;
}

}  // namespace

at::Tensor normal_weights(std::uint64_t seed, const std::string& name, at::IntArrayRef shape,
                          double deviation) {
  at::Tensor values = at::empty(shape, at::kFloat);
  const std::uint64_t own = derive_seed(seed, "weights:" + name);
  float* data = values.data_ptr<float>();
  const std::int64_t count = values.numel();
  for (std::int64_t block = 0; 4 * block < count; ++block) {
    const auto words =
        random_words(own, {static_cast<std::uint32_t>(block),
                           static_cast<std::uint32_t>(static_cast<std::uint64_t>(block) >> 32)});
    double normal[4];
    for (int pair = 0; pair < 2; ++pair) {
      const double radius = std::sqrt(-2.0 * std::log(unit(words[2 * pair])));
      const double angle = 2.0 * std::numbers::pi * unit(words[2 * pair + 1]);
      normal[2 * pair] = radius * std::cos(angle);
      normal[2 * pair + 1] = radius * std::sin(angle);
    }
    for (std::int64_t i = 4 * block; i < std::min(count, 4 * block + 4); ++i)
      data[i] = static_cast<float>(deviation * normal[i - 4 * block]);
  }
  return values;
}

at::Tensor dropout_mask(const at::Tensor& like, double rate, std::uint64_t seed, std::int64_t step,
                        std::int32_t micro_batch, std::int32_t slice, const std::string& site) {
  at::Tensor mask = at::empty(like.sizes(), at::kFloat);
  const std::uint64_t own = derive_seed(derive_seed(seed, "dropout:" + site),
                                        std::to_string(step) + ":" + std::to_string(slice));
  const auto limit = static_cast<std::uint64_t>(rate * 4294967296.0);
  const auto kept = static_cast<float>(1.0 / (1.0 - rate));
  float* data = mask.data_ptr<float>();
  const std::int64_t count = mask.numel();
  for (std::int64_t block = 0; 4 * block < count; ++block) {
    const auto words = random_words(
        own, {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(micro_batch)});
    for (std::int64_t i = 4 * block; i < std::min(count, 4 * block + 4); ++i)
      data[i] = words[static_cast<std::size_t>(i - 4 * block)] < limit ? 0.0f : kept;
  }
  return mask;
}

}  // namespace headrace
