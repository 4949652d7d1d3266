// SPDX-License-Identifier: Apache-2.0
//
// All methods against what is known of them: printed orders, computed values, closed forms, and the
// promise that any size is either verified or refused with sizes that work.
#include "headrace/base/error.h"
#include "headrace/base/text.h"
#include "headrace/schedule/controllable.h"
#include "headrace/schedule/generate.h"
#include "headrace/schedule/lower.h"
#include "headrace/schedule/peak.h"
#include "headrace/schedule/text_form.h"
#include "headrace/schedule/verify.h"
#include "headrace/simulate/simulate.h"
#include "headrace/timeline/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

namespace headrace {
namespace {

// A method as the tables name it: "interleaved-1f1b-g5" is the method with an option.
ScheduleRequest request_of(std::string name, int p, int m, int v) {
  ScheduleRequest request;
  request.ranks = p;
  request.micro_batches = m;
  const auto number = [&](const std::string& mark) {
    const auto at = name.rfind(mark);
    const int value = std::stoi(name.substr(at + mark.size()));
    name = name.substr(0, at);
    return value;
  };
  if (name == "gpipe" || name == "gpipe-reverse") request.reverse = true;
  if (name == "gpipe-reverse" || name == "gpipe-fifo") name = "gpipe";
  if (name == "dapple-A-D3") {
    name = "1f1b";
    request.in_flight = 3;
  }
  if (name.starts_with("hanayo-w")) request.waves = number("-w");
  if (name.starts_with("terapipe-k")) request.slices = number("-k");
  if (name.starts_with("interleaved-1f1b-g")) request.group = number("-g");
  if (name == "inference") name = "forward-only";
  if (name == "v-min-reordered") name = "v-min";
  if (name == "v-half-reordered") name = "v-half";
  if (name.starts_with("interleaved") || name == "looped-bfs" || name == "forward-only")
    request.stages_per_rank = v;
  request.method = name;
  return request;
}

TEST(Methods, HaveThePrintedOrdersTokenForToken) {
  std::ifstream file(std::string(HEADRACE_SOURCE_DIR) + "/tests/golden/printed_orders.txt");
  std::map<std::string, std::vector<std::string>> printed;
  std::string line;
  std::string method;
  while (std::getline(file, line)) {
    if (line.empty() || line.front() == '#') continue;
    if (line.starts_with("rank "))
      printed[method].push_back(line);
    else
      method = line;
  }
  ASSERT_GE(printed.size(), 15u);
  const auto known = method_names();
  for (const auto& [name, rows] : printed) {
    ScheduleRequest request = request_of(name, 4, 8, 2);
    if (name == "terapipe") request = {.method = name, .ranks = 4, .micro_batches = 2, .slices = 4};
    if (name == "seq1f1b") request = {.method = name, .ranks = 4, .micro_batches = 4, .slices = 2};
    if (std::find(known.begin(), known.end(), request.method) == known.end()) {
      ADD_FAILURE() << "no method " << name;
      continue;
    }
    const std::string text = to_text(generate(request));
    for (const std::string& row : rows)
      EXPECT_NE(text.find(row + "\n"), std::string::npos) << name << "\n" << row << "\n" << text;
  }
}

// Per token of the measured models, told apart by their forward time: a stage holds 34 h + 5 a s
// from F on (h width, a heads, s = 1,024 tokens), of which W frees 32 h and I the rest. At unit
// costs one activation is the unit, and W frees it.
std::pair<std::int64_t, std::int64_t> memory_of(std::int64_t forward) {
  struct Model {
    std::int64_t least, most, h, a;
  };
  for (const Model& model : {Model{18'000, 19'000, 2304, 24}, Model{29'000, 30'000, 4096, 32},
                             Model{11'000, 12'000, 5120, 40}, Model{10'000, 10'999, 6144, 48}})
    if (forward >= model.least && forward <= model.most) {
      const std::int64_t whole = 34 * model.h + 5 * model.a * 1024;
      return {whole, whole - 32 * model.h};
    }
  return {1, 0};
}

TEST(Methods, HaveTheComputedValues) {
  std::ifstream file(std::string(HEADRACE_SOURCE_DIR) + "/tests/golden/schedule_values.tsv");
  const auto known = method_names();
  std::string line;
  int rows = 0;
  while (std::getline(file, line)) {
    if (line.empty() || line.front() == '#') continue;
    const auto cells = split(line, '\t');
    const auto number = [&](std::size_t i) { return std::stoll(std::string(cells[i])); };
    const std::string name(cells[0]);
    ++rows;
    if (name == "zb-v-auto") continue;
    auto request = request_of(name, static_cast<int>(number(1)), static_cast<int>(number(2)),
                              static_cast<int>(number(3)));
    // Some costs are thirds and quarters of a nanosecond; twelfths make them whole.
    const auto twelfths = [&](std::size_t at) {
      return Time(std::llround(12 * std::stod(std::string(cells[at]))));
    };
    if (name == "zb-1p" || name == "zb-2p") {
      const auto [activation, freed] = memory_of(number(4));
      request.costs.stages.assign(static_cast<std::size_t>(request.ranks),
                                  {twelfths(4), twelfths(5), twelfths(6), activation, freed});
      request.costs.latency = twelfths(7);
    }
    const Schedule schedule = name == "v-min"    ? v_min_raw(request.ranks, request.micro_batches)
                              : name == "v-half" ? v_half_raw(request.ranks, request.micro_batches)
                                                 : generate(request);
    StageCosts costs = uniform_costs(schedule.stage_count(), twelfths(4), twelfths(5), twelfths(6));
    if (cells[8] != "-") costs.pair = twelfths(8);
    const auto metrics =
        measure(simulate(schedule, costs, uniform_machine(request.ranks, {twelfths(7), 0})));
    EXPECT_EQ(metrics.makespan, twelfths(9)) << line;
    EXPECT_NEAR(metrics.bubble, std::stod(std::string(cells[10])), 6e-7) << line;
    EXPECT_EQ(metrics.span, twelfths(11)) << line;
    EXPECT_NEAR(metrics.bubble_span, std::stod(std::string(cells[12])), 6e-7) << line;
    std::string peak;
    for (const int live : metrics.peak_live)
      peak += (peak.empty() ? "" : ",") + std::to_string(live);
    EXPECT_EQ(peak, cells[13]) << line;
    EXPECT_EQ(metrics.messages, static_cast<std::size_t>(number(14))) << line;
  }
  EXPECT_GE(rows, 100);
}

// Every method, every size: a schedule that verifies, and whose lowered lists do, or a refusal that
// names something else than what was asked.
TEST(Methods, AnySizeIsVerifiedOrRefusedWithSizesThatWork) {
  int made = 0;
  int refused = 0;
  const auto attempt = [&](const ScheduleRequest& request) {
    try {
      const Schedule schedule = generate(request);
      ++made;
      const auto violations = verify(lower(schedule));
      EXPECT_TRUE(violations.empty())
          << request.method << " p=" << request.ranks << " m=" << request.micro_batches << ": "
          << violations.front().message;
    } catch (const UsageError& error) {
      ++refused;
      EXPECT_TRUE(std::string(error.what()).starts_with(request.method + ":")) << error.what();
      EXPECT_NE(std::string(error.what()).find_first_of("0123456789"), std::string::npos)
          << error.what();
    }
  };
  for (const std::string& name : method_names())
    for (int p = 1; p <= 9; ++p)
      for (int m = 1; m <= 17; ++m) {
        ScheduleRequest plain{.method = name, .ranks = p, .micro_batches = m};
        attempt(plain);
        if (name == "interleaved-1f1b" || name == "interleaved-zb" || name == "looped-bfs" ||
            name == "forward-only")
          for (int v = 1; v <= 4; ++v) {
            ScheduleRequest request = plain;
            request.stages_per_rank = v;
            attempt(request);
            if (!name.starts_with("interleaved")) continue;
            for (const int group : {p, p + 1, m})
              if (group >= 1) {
                request.group = group;
                attempt(request);
              }
          }
        for (int x = 1; x <= 4; ++x) {
          if (name == "hanayo")
            attempt({.method = name, .ranks = p, .micro_batches = m, .waves = x});
          if (name == "chimera")
            attempt({.method = name, .ranks = p, .micro_batches = m, .pairs = x});
          if (name == "terapipe" || name == "seq1f1b")
            attempt({.method = name, .ranks = p, .micro_batches = m, .slices = x});
          if (name == "pipedream-2bw")
            attempt({.method = name, .ranks = p, .micro_batches = m, .group = x});
        }
      }
  std::printf("%d made, %d refused\n", made, refused);
  EXPECT_GT(made, 4000);
}

}  // namespace
}  // namespace headrace
