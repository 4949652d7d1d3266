// SPDX-License-Identifier: Apache-2.0
//
// Collects violations, the first hundred in full and the rest as a count.
#pragma once

#include "headrace/schedule/verify.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace headrace::internal {

class Violations {
 public:
  // A file of garbage would otherwise make millions of sentences.
  static constexpr std::size_t kMost = 100;

  // `words` is called only where the message will be kept.
  template <class Words>
  void add(Rule rule, std::size_t rank, std::size_t position, Words words) {
    add_whole(rule, static_cast<int>(rank), static_cast<int>(position), words);
  }
  template <class Words>
  void add_whole(Rule rule, int rank, int position, Words words) {
    if (found_.size() < kMost)
      found_.push_back({rule, rank, position, words()});
    else
      ++more_;
  }

  [[nodiscard]] bool empty() const { return found_.empty(); }
  [[nodiscard]] std::vector<Violation> take() {
    if (more_ > 0)
      found_.push_back({found_.back().rule, -1, -1,
                        "and " + std::to_string(more_) + " more violations after these."});
    return std::move(found_);
  }

 private:
  std::vector<Violation> found_;
  std::size_t more_ = 0;
};

}  // namespace headrace::internal
