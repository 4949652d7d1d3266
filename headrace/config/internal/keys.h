// SPDX-License-Identifier: Apache-2.0
//
// The one table of all keys: parsing, overrides, writing and the documentation follow it.
#pragma once

#include "headrace/config/train_config.h"

#include <toml++/toml.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::internal {

struct Key {
  std::string name;         // dotted
  bool holds_text = false;  // a bare word on the command line is meant as text
  // Sets the key from a TOML value; throws UsageError with words that need a place in front.
  std::function<void(TrainConfig&, const toml::node&)> set;
  std::function<std::string(const TrainConfig&)> write;  // as a TOML value
};

[[nodiscard]] const std::vector<Key>& keys();
[[nodiscard]] const Key* find_key(std::string_view name);

}  // namespace headrace::internal
