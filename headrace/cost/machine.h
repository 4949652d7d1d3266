// SPDX-License-Identifier: Apache-2.0
//
// What a schedule runs on: ranks with memory and speed, links with latency and bandwidth.
#pragma once

#include "headrace/base/ids.h"
#include "headrace/base/units.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace headrace {

struct RankSpec {
  Bytes memory{};                      // 0 means no limit
  std::int64_t speed_permille = 1000;  // an action takes cost * 1000 / speed_permille, rounded up

  bool operator==(const RankSpec&) const = default;
};

// One direction between two ranks. A message of b bytes takes latency + ceil(b / bandwidth).
struct Link {
  Time latency{};
  std::int64_t bytes_per_second = 0;  // 0 means infinite

  bool operator==(const Link&) const = default;
};

struct Machine {
  std::vector<RankSpec> ranks;
  Link link;                                        // between any two ranks, unless named here:
  std::map<std::pair<RankId, RankId>, Link> links;  // (from, to)
  // Messages of one direction of a link wait for each other: each occupies it for its bytes over
  // the bandwidth, and then travels for the latency. Without: every message goes at once.
  bool links_contend = false;
  // A send holds its rank until the receiver stands at the receive and the message has arrived, and
  // so does the receive (engines with blocking transfers). Needs a lowered schedule.
  bool sends_block = false;

  bool operator==(const Machine&) const = default;

  [[nodiscard]] const Link& link_between(RankId from, RankId to) const;
};

// `ranks` equal ranks without memory limit, all links alike.
[[nodiscard]] Machine uniform_machine(int ranks, Link link = {});

// How long `size` takes over `link`, in whole nanoseconds, rounded up.
[[nodiscard]] Time transfer_time(const Link& link, Bytes size);
// The part of it that occupies the link: size over bandwidth, rounded up.
[[nodiscard]] Time occupied_time(const Link& link, Bytes size);

}  // namespace headrace
