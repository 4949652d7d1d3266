// SPDX-License-Identifier: Apache-2.0
#include "headrace/transport/in_process.h"
#include "tests/contract/transport_contract.h"

namespace headrace::testing {

INSTANTIATE_TEST_SUITE_P(InProcess, TransportContract,
                         ::testing::Values(Transport{"in_process", in_process_endpoints}),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace headrace::testing
