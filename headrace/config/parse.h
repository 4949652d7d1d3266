// SPDX-License-Identifier: Apache-2.0
//
// TOML to TrainConfig and back, with every key settable by its dotted name.
#pragma once

#include "headrace/config/train_config.h"

#include <string>
#include <string_view>
#include <vector>

namespace headrace {

// "key=value" as given on the command line; the value is TOML ("12", "true", "[3, 5]"), or a bare
// word where the key holds text.
struct Override {
  std::string key;
  std::string value;
};

// Reads a configuration. Relative paths in data.text (and pipeline.schedule, where it is a file)
// are relative to the working directory. Throws ParseError "FILE:LINE:COLUMN: ..." for malformed
// TOML, a duplicate or unknown key (with the nearest right one), a wrong type, a number out of
// range; for an override, the place is "--set KEY". Checks nothing across keys: see check().
[[nodiscard]] TrainConfig parse_train_config(std::string_view toml, std::string_view source,
                                             const std::vector<Override>& overrides = {});

// The same from a file; IoError when it cannot be read.
[[nodiscard]] TrainConfig load_train_config(const std::string& path,
                                            const std::vector<Override>& overrides = {});

// The whole configuration as TOML, every key written out; parses back to an equal value.
[[nodiscard]] std::string to_toml(const TrainConfig& config);

// All keys, dotted, in the order of docs/config.md.
[[nodiscard]] std::vector<std::string> train_config_keys();

}  // namespace headrace
