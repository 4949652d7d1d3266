// SPDX-License-Identifier: Apache-2.0
#include "headrace/transport/wait_words.h"

#include <fmt/format.h>

#include <algorithm>

namespace headrace {
namespace {

std::string seconds(std::chrono::nanoseconds time) {
  const auto ms = std::chrono::round<std::chrono::milliseconds>(time).count();
  return fmt::format("{:g} s", static_cast<double>(ms) / 1000.0);
}

std::string with_step(const MessageName& name) {
  return fmt::format("{} (step {})", send_token(name), name.step);
}

std::string first_sentences(const LateMessage& late) {
  const int rank = late.wait.rank.value;
  const int from = late.wait.from.value;
  const std::string wanted = with_step(late.wait.name);
  // A rank that keeps sending other things is not silent, and saying so would mislead.
  if (late.last_heard && late.since_heard < late.waited)
    return fmt::format("rank {}: waited {} for {} from rank {}. Last heard, {} ago: {}.", rank,
                       seconds(late.waited), wanted, from, seconds(late.since_heard),
                       with_step(*late.last_heard));
  return fmt::format("rank {}: no word from rank {} for {}, while waiting for {}. Last heard: {}.",
                     rank, from, seconds(late.waited), wanted,
                     late.last_heard ? with_step(*late.last_heard) : "nothing so far");
}

}  // namespace

std::string to_text(const LateMessage& late) {
  std::string words = first_sentences(late);
  for (const Wait& wait : late.chain)
    words += fmt::format(" Rank {} itself waits for {} from rank {}.", wait.rank.value,
                         with_step(wait.name), wait.from.value);
  const RankId last = late.chain.empty() ? late.wait.from : late.chain.back().from;
  const auto seen = [last](const Wait& wait) { return wait.rank == last; };
  if (last == late.wait.rank || std::any_of(late.chain.begin(), late.chain.end(), seen))
    return words +
           " They wait for each other: run `headrace verify` on the schedule of this run, and "
           "report this message if it finds nothing.";
  return words + fmt::format(" Check that rank {} is running, or raise --timeout.", last.value);
}

}  // namespace headrace
