// SPDX-License-Identifier: Apache-2.0
#include "headrace/runtime/digest.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

struct Result {
  std::vector<double> losses{0.5, 0.25};
  std::vector<NamedTensor> weights{{"a.weight", at::tensor({1.f, 2.f, 3.f, 4.f}).view({2, 2})},
                                   {"b", at::full({}, 7.f)}};
  std::vector<NamedTensor> optimizer{{"a.weight.step", at::full({}, 2.f)}};

  [[nodiscard]] std::string digest() const { return digest_of(losses, weights, optimizer); }
};

// Made with another program from the bytes that digest.h describes.
TEST(Digest, IsTheSha256OfTheDescribedBytes) {
  EXPECT_EQ(Result{}.digest(), "3a86199989b3f8a50d5b31ccc9658245bdb26c05bce188252829647e9ebb4251");
}

TEST(Digest, SeesEveryPart) {
  const std::string first = Result{}.digest();
  const auto changed = [&](auto change) {
    Result result;
    change(result);
    return result.digest() != first;
  };
  EXPECT_TRUE(changed([](Result& r) { r.losses[1] = 0.25000000000000006; }));
  EXPECT_TRUE(changed([](Result& r) { r.losses.pop_back(); }));
  EXPECT_TRUE(changed([](Result& r) { r.weights[0].tensor[1][1] = 4.0000005f; }));
  EXPECT_TRUE(changed([](Result& r) { r.weights[0].name = "c.weight"; }));
  EXPECT_TRUE(changed([](Result& r) { r.weights[0].tensor = r.weights[0].tensor.view({4}); }));
  EXPECT_TRUE(changed([](Result& r) { std::swap(r.weights[0], r.weights[1]); }));
  EXPECT_TRUE(changed([](Result& r) { r.optimizer[0].tensor.add_(1); }));
  EXPECT_TRUE(changed([](Result& r) { r.optimizer.clear(); }));
}

TEST(Digest, DoesNotSeeStrides) {
  Result result;
  result.weights[0].tensor = at::tensor({1.f, 3.f, 2.f, 4.f}).view({2, 2}).t();
  EXPECT_EQ(result.digest(), Result{}.digest());
}

}  // namespace
}  // namespace headrace
