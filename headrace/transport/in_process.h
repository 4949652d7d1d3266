// SPDX-License-Identifier: Apache-2.0
//
// Ranks as threads of one process: messages change owner, nothing is copied.
#pragma once

#include "headrace/transport/endpoint.h"

#include <memory>
#include <vector>

namespace headrace {

// `ranks` endpoints that are connected to each other. They share one mailbox per rank and may
// outlive each other.
[[nodiscard]] std::vector<std::unique_ptr<Endpoint>> in_process_endpoints(int ranks);

}  // namespace headrace
