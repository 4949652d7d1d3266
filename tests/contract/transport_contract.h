// SPDX-License-Identifier: Apache-2.0
//
// What every transport must do. A transport takes part by an instance of the suite:
//
//   INSTANTIATE_TEST_SUITE_P(InProcess, TransportContract,
//                            ::testing::Values(Transport{"in-process", in_process_endpoints}));
#pragma once

#include "headrace/transport/endpoint.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace headrace::testing {

struct Transport {
  std::string name;
  // Connected endpoints, entry r for rank r.
  std::function<std::vector<std::unique_ptr<Endpoint>>(int ranks)> connect;
};

class TransportContract : public ::testing::TestWithParam<Transport> {};

}  // namespace headrace::testing
