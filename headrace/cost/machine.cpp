// SPDX-License-Identifier: Apache-2.0
#include "headrace/cost/machine.h"

#include "headrace/base/error.h"

namespace headrace {

const Link& Machine::link_between(RankId from, RankId to) const {
  const auto named = links.find({from, to});
  return named == links.end() ? link : named->second;
}

Machine uniform_machine(int ranks, Link link) {
  Machine machine;
  machine.ranks.resize(static_cast<std::size_t>(ranks));
  machine.link = link;
  return machine;
}

Time occupied_time(const Link& link, Bytes size) {
  if (link.bytes_per_second == 0 || size.value == 0) return Time(0);
  HEADRACE_CHECK(link.bytes_per_second > 0 && size.value > 0,
                 "a transfer of {} bytes at {} bytes/s", size.value, link.bytes_per_second);
  __extension__ using Wide = __int128;
  const Wide nanoseconds =
      (Wide{size.value} * 1'000'000'000 + link.bytes_per_second - 1) / link.bytes_per_second;
  return Time(static_cast<std::int64_t>(nanoseconds));
}

Time transfer_time(const Link& link, Bytes size) {
  return link.latency + occupied_time(link, size);
}

}  // namespace headrace
