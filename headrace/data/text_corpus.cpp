// SPDX-License-Identifier: Apache-2.0
#include "headrace/data/text_corpus.h"

#include "headrace/base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace headrace {
namespace {

namespace fs = std::filesystem;

// Appends the file's bytes to `text`; throws IoError with the system's reason.
void append_file(const fs::path& path, std::vector<std::uint8_t>& text) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const auto size = file ? static_cast<std::int64_t>(file.tellg()) : -1;
  if (size < 0)
    throw IoError(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
  const std::size_t before = text.size();
  text.resize(before + static_cast<std::size_t>(size));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(text.data() + before), size);
  if (file.gcount() != size)
    throw IoError(
        fmt::format("{}: only {} of {} bytes could be read", path.string(), file.gcount(), size));
}

void add_file(const fs::path& path, bool named, TextCorpus& corpus,
              std::vector<std::uint8_t>& text) {
  const std::size_t before = text.size();
  append_file(path, text);
  const auto begin = text.begin() + static_cast<std::ptrdiff_t>(before);
  // A file that the user named is taken as it is; of a folder, only what is text.
  if (!named && std::find(begin, text.end(), 0) != text.end()) {
    text.resize(before);
    corpus.skipped.push_back(path.string());
    return;
  }
  if (text.size() > before && text.back() != '\n') text.push_back('\n');
  corpus.files.push_back(path.string());
}

void add_folder(const fs::path& folder, TextCorpus& corpus, std::vector<std::uint8_t>& text) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error))
    if (at->is_regular_file(error) && !at->is_symlink(error)) files.push_back(at->path());
  if (error)
    throw IoError(fmt::format("{}: cannot be listed: {}", folder.string(), error.message()));
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) add_file(file, false, corpus, text);
}

}  // namespace

TextCorpus load_text(std::span<const std::string> paths, double held_out, int sequence) {
  if (!(held_out >= 0 && held_out < 1))
    throw UsageError(
        fmt::format("held-out share is {}; expected 0 or more and less than 1", held_out));
  TextCorpus corpus;
  std::vector<std::uint8_t> text;
  for (const std::string& path : paths) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status))
      throw IoError(fmt::format("{}: no such file or folder; name text that exists", path));
    if (fs::is_directory(status))
      add_folder(path, corpus, text);
    else
      add_file(path, true, corpus, text);
  }
  if (text.empty())
    throw UsageError(fmt::format("there is no text in {}; name files or folders that hold some",
                                 paths.empty() ? "an empty list" : paths.front()));
  const auto tail =
      static_cast<std::size_t>(std::floor(held_out * static_cast<double>(text.size())));
  const auto least = static_cast<std::size_t>(sequence) + 1;
  const std::size_t head = text.size() - tail;
  if (head < least || (held_out > 0 && tail < least))
    throw UsageError(fmt::format(
        "the text has {} bytes, {} to train on and {} held out; each part needs {} or more (the "
        "sequence of {} and one). Take more text, or a shorter sequence.",
        text.size(), head, tail, least, sequence));
  corpus.held_out.assign(text.begin() + static_cast<std::ptrdiff_t>(head), text.end());
  text.resize(head);
  corpus.train = std::move(text);
  return corpus;
}

TextEntropy text_entropy(std::span<const std::uint8_t> text) {
  std::array<double, 256> single{};
  std::vector<double> pairs(std::size_t{256} * 256, 0.0);
  for (const std::uint8_t byte : text) single[byte] += 1;
  for (std::size_t i = 1; i < text.size(); ++i) pairs[256 * text[i - 1] + text[i]] += 1;

  const auto total = static_cast<double>(text.size());
  TextEntropy entropy;
  for (const double count : single)
    if (count > 0) entropy.unigram -= count / total * std::log(count / total);
  for (std::size_t first = 0; first < 256; ++first) {
    double after = 0;
    for (std::size_t next = 0; next < 256; ++next) after += pairs[256 * first + next];
    for (std::size_t next = 0; next < 256; ++next)
      if (const double count = pairs[256 * first + next]; count > 0)
        entropy.bigram -= count / (total - 1) * std::log(count / after);
  }
  return entropy;
}

}  // namespace headrace
