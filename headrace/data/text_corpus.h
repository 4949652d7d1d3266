// SPDX-License-Identifier: Apache-2.0
//
// Text as bytes: the corpus, its split, and batches that depend on nothing but (seed, step).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace headrace {

// Train and held-out bytes. Files are joined in the order given, each followed by one newline if it
// does not end in one; a folder stands for its regular files in path order, recursively, without
// symbolic links and without binary files (those with a zero byte), which `skipped` lists.
struct TextCorpus {
  std::vector<std::uint8_t> train;
  std::vector<std::uint8_t> held_out;
  std::vector<std::string> files;    // that were read
  std::vector<std::string> skipped;  // binary files of folders
};

// Reads and splits: the last `held_out` share of the bytes is held out, 0 <= held_out < 1.
// Throws IoError for a path that does not exist or cannot be read, UsageError when there is no text
// or either part is shorter than `sequence` + 1 bytes.
[[nodiscard]] TextCorpus load_text(std::span<const std::string> paths, double held_out,
                                   int sequence);

// Entropies of a byte text in nats per byte: what a model that knows only the frequencies
// (unigram), or the frequencies after each byte (bigram), would reach on `text` itself.
struct TextEntropy {
  double unigram = 0;
  double bigram = 0;
};
[[nodiscard]] TextEntropy text_entropy(std::span<const std::uint8_t> text);

}  // namespace headrace
