// SPDX-License-Identifier: Apache-2.0
#include "headrace/base/error.h"
#include "headrace/data/batches.h"
#include "headrace/data/text_corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <unistd.h>

namespace headrace {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LoadText : public ::testing::Test {
 protected:
  LoadText()
      : folder_(fs::temp_directory_path() / ("headrace-data-" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "sub");
  }
  ~LoadText() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  static std::string error_of(const std::vector<std::string>& paths, double held_out,
                              int sequence) {
    try {
      static_cast<void>(load_text(paths, held_out, sequence));
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  }
  static std::string text_of(const std::vector<std::uint8_t>& bytes) {
    return {bytes.begin(), bytes.end()};
  }

  fs::path folder_;
};

TEST_F(LoadText, JoinsFilesInTheOrderGivenWithANewlineBetween) {
  const auto b = write("b.txt", "second");
  const auto a = write("a.txt", "first\n");
  const auto corpus = load_text(std::vector{b, a}, 0, 2);
  EXPECT_EQ(text_of(corpus.train), "second\nfirst\n");
  EXPECT_TRUE(corpus.held_out.empty());
}

TEST_F(LoadText, TakesAFoldersTextsOnceAndInOrder) {
  write("z", "zz\n");
  write("sub/y", "yy\n");
  const auto binary = write("a.dat", std::string("\0\1", 2));
  fs::create_symlink(folder_ / "z", folder_ / "z.u8");
  const auto corpus = load_text(std::vector{folder_.string()}, 0, 2);
  EXPECT_EQ(text_of(corpus.train), "yy\nzz\n");
  EXPECT_THAT(corpus.skipped, ElementsAre(binary));
}

TEST_F(LoadText, HoldsOutTheEnd) {
  const auto file = write("a", "0123456789abcdefghi");  // and a newline: 20 bytes
  const auto corpus = load_text(std::vector{file}, 0.25, 2);
  EXPECT_EQ(text_of(corpus.train), "0123456789abcde");
  EXPECT_EQ(text_of(corpus.held_out), "fghi\n");
}

TEST_F(LoadText, SaysWhatIsMissing) {
  EXPECT_THAT(error_of({"/no/such/place"}, 0, 2), HasSubstr("/no/such/place: no such file"));
  EXPECT_THAT(error_of({write("empty", "")}, 0, 2), HasSubstr("there is no text in"));
  EXPECT_THAT(error_of({folder_.string()}, 0, 2), HasSubstr("there is no text in"));
  EXPECT_THAT(error_of({write("short", "abc")}, 0, 4), HasSubstr("has 4 bytes, 4 to train on"));
  EXPECT_THAT(error_of({write("short", "abcdefgh")}, 0.1, 4), HasSubstr("0 held out"));
  EXPECT_THAT(error_of({write("short", "abc")}, 1.0, 1), HasSubstr("held-out share is 1"));
}

TEST(TextEntropy, OfARegularTextIsKnown) {
  // "abab...": two letters equally often, and each tells the next for certain.
  std::vector<std::uint8_t> text;
  for (int i = 0; i < 1000; ++i) text.push_back(i % 2 == 0 ? 'a' : 'b');
  EXPECT_NEAR(text_entropy(text).unigram, std::log(2.0), 1e-12);
  EXPECT_NEAR(text_entropy(text).bigram, 0.0, 1e-12);
}

TEST(TextEntropy, OfABigramByHand) {
  // aabb: pairs aa, ab, bb. After a: a or b, one each; after b: b. H = 2/3 ln 2.
  const std::vector<std::uint8_t> text{'a', 'a', 'b', 'b'};
  EXPECT_NEAR(text_entropy(text).bigram, 2.0 / 3.0 * std::log(2.0), 1e-12);
}

TEST(MicroBatchSizes, AreEvenAndTheLongerComeFirst) {
  EXPECT_THAT(micro_batch_sizes(8, 3), ElementsAre(3, 3, 2));
  EXPECT_THAT(micro_batch_sizes(5, 4), ElementsAre(2, 1, 1, 1));
  EXPECT_THAT(micro_batch_sizes(4, 1), ElementsAre(4));
  EXPECT_THROW(static_cast<void>(micro_batch_sizes(4, 5)), UsageError);
  EXPECT_THROW(static_cast<void>(micro_batch_sizes(4, 0)), UsageError);
}

std::vector<std::uint8_t> counting_text(int size) {
  std::vector<std::uint8_t> text;
  for (int i = 0; i < size; ++i) text.push_back(static_cast<std::uint8_t>(i % 251));
  return text;
}

TEST(TrainingRows, DependOnSeedStepAndRowOnly) {
  const auto text = counting_text(1000);
  const TokenBatch whole = training_rows(text, 5, 1, 7, 0, 6);
  for (int row = 0; row < 6; ++row) {
    const TokenBatch one = training_rows(text, 5, 1, 7, row, 1);
    for (int t = 0; t < 5; ++t)
      EXPECT_EQ(one.inputs[static_cast<std::size_t>(t)],
                whole.inputs[static_cast<std::size_t>(5 * row + t)]);
  }
  EXPECT_NE(training_rows(text, 5, 1, 8, 0, 6), whole);
  EXPECT_NE(training_rows(text, 5, 2, 7, 0, 6), whole);
}

TEST(TrainingRows, TargetsAreTheNextTokensAndEveryPlaceIsReached) {
  const auto text = counting_text(9);
  std::set<std::int64_t> starts;
  for (int step = 0; step < 200; ++step) {
    const TokenBatch batch = training_rows(text, 4, 1, step, 0, 1);
    starts.insert(batch.inputs[0]);
    for (std::size_t t = 0; t < 4; ++t) EXPECT_EQ(batch.targets[t], batch.inputs[t] + 1);
  }
  EXPECT_THAT(starts, ElementsAre(0, 1, 2, 3, 4));
}

TEST(EvaluationRows, GoThroughTheTextInOrderAndBeginAgain) {
  const auto text = counting_text(10);
  const TokenBatch batch = evaluation_rows(text, 3, 1, 4);
  EXPECT_EQ(batch.inputs[0], 3);
  EXPECT_EQ(batch.inputs[3], 6);
  EXPECT_EQ(batch.inputs[6], 0);
  EXPECT_EQ(batch.targets[5], 9);
}

}  // namespace
}  // namespace headrace
