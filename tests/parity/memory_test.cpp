// SPDX-License-Identifier: Apache-2.0
//
// Every byte is counted, nothing stays behind, and no kernel reads what nobody wrote.
#include "headrace/schedule/basic.h"
#include "headrace/schedule/text_form.h"
#include "tests/parity/fixture.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

using test::small_config;
using test::small_corpus;
using test::train_piped;

std::vector<Bytes> held(int ranks) {
  std::vector<Bytes> bytes;
  for (int r = 0; r < ranks; ++r) bytes.push_back(bytes_held_by(RankId(r)));
  return bytes;
}

TEST(TrainMemory, IsAllGivenBackAfterARun) {
  const TextCorpus corpus = small_corpus();
  TrainConfig config = small_config();
  config.eval.every = 1;
  install_cpu_allocator();
  const auto before = held(4);
  static_cast<void>(train_piped(config, one_f_one_b(4, 5), corpus));
  EXPECT_EQ(held(4), before);
}

// What a rank holds after a step must not depend on how many steps there were.
TEST(TrainMemory, PeakDoesNotGrowWithSteps) {
  const TextCorpus corpus = small_corpus();
  TrainConfig config = small_config();
  const auto peak = [&](int steps) {
    config.steps = steps;
    return train_piped(config, one_f_one_b(1, 3), corpus).peak_bytes;
  };
  EXPECT_EQ(peak(20), peak(2));
}

// A block that is freed while somebody still reads it, or read before anybody wrote it, would turn
// the result into NaN.
TEST(TrainMemory, IsNeverReadBeforeItIsWrittenNorAfterItIsFreed) {
  const TextCorpus corpus = small_corpus();
  TrainConfig config = small_config();
  config.model.dropout = 0.1;
  config.eval.every = 2;
  install_cpu_allocator(CpuAllocatorOptions{});
  const TrainResult plain = train_piped(config, one_f_one_b(3, 5), corpus);
  for (const bool reuse : {true, false}) {
    install_cpu_allocator(CpuAllocatorOptions{reuse, true});
    const TrainResult poisoned = train_piped(config, one_f_one_b(3, 5), corpus);
    EXPECT_EQ(poisoned.digest, plain.digest) << (reuse ? "with reuse" : "without reuse");
    EXPECT_EQ(poisoned.eval_loss, plain.eval_loss);
  }
  install_cpu_allocator(CpuAllocatorOptions{});
}

}  // namespace
}  // namespace headrace
