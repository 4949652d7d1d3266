// SPDX-License-Identifier: Apache-2.0
//
// The numbers that name things. Each is a type of its own, explicit to build and without
// arithmetic, so that a stage can never be passed where a rank is meant.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace headrace {

// A whole number from 0 that names one thing of kind `Tag`; -1 names none.
template <class Tag>
struct Id {
  std::int32_t value = -1;

  constexpr Id() = default;
  constexpr explicit Id(std::int64_t number) : value(static_cast<std::int32_t>(number)) {}

  [[nodiscard]] constexpr bool valid() const { return value >= 0; }
  // The place in a vector that has one entry per thing.
  [[nodiscard]] constexpr std::size_t index() const { return static_cast<std::size_t>(value); }

  constexpr auto operator<=>(const Id&) const = default;
};

using RankId = Id<struct RankTag>;              // one worker with one device
using StageId = Id<struct StageTag>;            // consecutive layers that run together
using MicroBatchId = Id<struct MicroBatchTag>;  // one slice of the batch

}  // namespace headrace
