// SPDX-License-Identifier: Apache-2.0
//
// Every method that training runs, on several sizes: equal to one device, bit for bit.
#include "headrace/base/error.h"
#include "headrace/schedule/generate.h"
#include "headrace/schedule/peak.h"
#include "tests/parity/fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

namespace headrace {
namespace {

using test::small_config;
using test::small_corpus;
using test::train_piped;
using test::train_unsplit;

// The methods that keep one copy of the weights, update them at the end of the step, move no
// activation to another rank and do not cut sequences.
const std::vector<std::string>& trained_methods() {
  static const std::vector<std::string> names{
      "naive",      "gpipe",          "1f1b",   "eager-1f1b", "zb-h1",  "zb-h2",
      "zb-1p",      "zb-2p",          "zb-v",   "v-min",      "v-half", "interleaved-1f1b",
      "looped-bfs", "interleaved-zb", "hanayo", "dualpipev"};
  return names;
}

TEST(Train, EqualsOneDeviceForEveryMethodThatItRuns) {
  const TextCorpus corpus = small_corpus();
  TrainConfig config = small_config();
  config.steps = 2;
  config.model.dropout = 0.1;
  int combinations = 0;
  for (const int m : {1, 3, 8, 17}) {
    const std::string forward = train_unsplit(config, corpus, m).digest;
    std::vector<int> reversed(static_cast<std::size_t>(m));
    for (int k = 0; k < m; ++k) reversed[static_cast<std::size_t>(k)] = m - 1 - k;
    const std::string backward = train_unsplit(config, corpus, m, reversed).digest;
    for (const std::string& method : trained_methods())
      for (const int p : {1, 2, 3, 5}) {
        Schedule schedule;
        try {
          schedule = generate({.method = method, .ranks = p, .micro_batches = m});
        } catch (const UsageError&) {
          continue;  // a size that the method does not define
        }
        const auto piped = train_piped(config, schedule, corpus);
        // Breadth-first takes the backward from the last micro-batch to the first.
        EXPECT_EQ(piped.digest, method == "looped-bfs" ? backward : forward)
            << method << " p=" << p << " m=" << m;
        EXPECT_EQ(piped.peak_live, peak_live(schedule)) << method << " p=" << p << " m=" << m;
        ++combinations;
      }
  }
  std::printf("%d combinations, all equal\n", combinations);
  EXPECT_GT(combinations, 200);
}

TEST(Train, RefusesWhatItDoesNotRunBeforeAnythingRuns) {
  const TextCorpus corpus = small_corpus();
  for (const std::string& method : method_names()) {
    const auto& trained = trained_methods();
    if (std::find(trained.begin(), trained.end(), method) != trained.end()) continue;
    const Schedule schedule = generate({.method = method, .ranks = 4, .micro_batches = 8});
    EXPECT_THROW(static_cast<void>(train_piped(small_config(), schedule, corpus)), UsageError)
        << method;
  }
}

}  // namespace
}  // namespace headrace
