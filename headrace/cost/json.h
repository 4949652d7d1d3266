// SPDX-License-Identifier: Apache-2.0
//
// The JSON forms of what things cost. Times are whole nanoseconds and sizes whole bytes, as the
// ending of each key says. docs/cost-model.md has an example of each form.
#pragma once

#include "headrace/cost/machine.h"
#include "headrace/cost/model_profile.h"
#include "headrace/cost/stage_costs.h"

#include <string>
#include <string_view>

namespace headrace {

// Every key written out; reads back to an equal value.
[[nodiscard]] std::string to_json(const ModelProfile& profile);
[[nodiscard]] std::string to_json(const StageCosts& costs);
[[nodiscard]] std::string to_json(const Machine& machine);

// Keys that are left out are 0, but for the version, the times of F, I and W, the layers, the
// stages and the ranks. `source` is named in messages. Throws ParseError for malformed text
// ("FILE:LINE:COLUMN: ...") and for an unknown, double or missing key, a value of another type, a
// fraction, or a number below 0 ("FILE: layers[2].forward_ns is ...; expected ...").
[[nodiscard]] ModelProfile parse_model_profile(std::string_view json, std::string_view source);
[[nodiscard]] StageCosts parse_stage_costs(std::string_view json, std::string_view source);
[[nodiscard]] Machine parse_machine_json(std::string_view json, std::string_view source);

}  // namespace headrace
