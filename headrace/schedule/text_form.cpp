// SPDX-License-Identifier: Apache-2.0
#include "headrace/schedule/text_form.h"

#include "headrace/base/error.h"
#include "headrace/base/text.h"
#include "headrace/schedule/csv.h"
#include "headrace/schedule/internal/token.h"

#include <fmt/format.h>

#include <array>

namespace headrace {
namespace {

using internal::fail_at;
using internal::Place;

constexpr std::string_view kFirstLine = "headrace-schedule 1";
constexpr std::array<std::string_view, 4> kRules{"synchronous", "stash", "vertical-sync",
                                                 "double-buffer"};

// One word of a line and where it stands.
struct Word {
  std::string_view text;
  Place place;
};

std::vector<Word> words_of(std::string_view line, std::string_view source, std::size_t number) {
  std::vector<Word> words;
  std::size_t at = 0;
  while ((at = line.find_first_not_of(" \t", at)) != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    words.push_back({line.substr(at, end - at), {source, number, at + 1}});
    at = end;
  }
  return words;
}

class Reader {
 public:
  explicit Reader(std::string_view source) : source_(source) {}

  Schedule run(const std::vector<std::string_view>& lines) {
    bool first = true;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const auto words = words_of(lines[i].substr(0, lines[i].find('#')), source_, i + 1);
      if (words.empty()) continue;
      if (first)
        first = false;  // parse_schedule has looked at it
      else
        line(words);
    }
    const Place end{source_, lines.size(), 1};
    if (schedule_.micro_batches == 0) fail_at(end, "no line \"micro-batches N\"; add it");
    if (schedule_.copies.empty()) fail_at(end, "no line \"place R R ...\"; add it");
    if (schedule_.ranks.empty()) fail_at(end, "no line \"rank 0: ...\"; add one per rank");
    return std::move(schedule_);
  }

 private:
  void line(const std::vector<Word>& words) {
    const Word& key = words.front();
    if (key.text == "rank") return rank(words);
    if (key.text == "place") {
      schedule_.copies.push_back(ranks_of(words));
      return;
    }
    once(key);
    if (key.text == "name") {
      schedule_.name = single(words).text;
    } else if (key.text == "micro-batches") {
      schedule_.micro_batches = positive(words);
    } else if (key.text == "slices") {
      schedule_.slices = positive(words);
    } else if (key.text == "flow") {
      for (std::size_t i = 1; i < words.size(); ++i)
        schedule_.flow.push_back(internal::parse_number(words[i].text, "copy", words[i].place));
    } else if (key.text == "hosts") {
      schedule_.hosts = ranks_of(words);
    } else if (key.text == "weights") {
      weights(words);
    } else if (key.text == "versions") {
      for (std::size_t i = 1; i < words.size(); ++i)
        schedule_.weights.versions.push_back(
            internal::parse_number(words[i].text, "versions", words[i].place));
    } else {
      const std::vector<std::string> known{"name",  "micro-batches", "slices",   "place", "flow",
                                           "hosts", "weights",       "versions", "rank"};
      fail_at(key.place, unknown_name("line", key.text, known));
    }
  }

  void once(const Word& key) {
    for (const std::string_view seen : seen_)
      if (seen == key.text)
        fail_at(key.place, fmt::format("a second line \"{}\"; remove one", key.text));
    seen_.push_back(key.text);
  }

  static const Word& single(const std::vector<Word>& words) {
    if (words.size() != 2)
      fail_at(words.front().place, fmt::format("\"{}\" has {} values; expected 1",
                                               words.front().text, words.size() - 1));
    return words[1];
  }

  static int positive(const std::vector<Word>& words) {
    const Word& word = single(words);
    const int value = internal::parse_number(word.text, words.front().text, word.place);
    if (value < 1)
      fail_at(word.place, fmt::format("{} is 0; expected 1 or more", words.front().text));
    return value;
  }

  static std::vector<RankId> ranks_of(const std::vector<Word>& words) {
    std::vector<RankId> ranks;
    for (std::size_t i = 1; i < words.size(); ++i)
      ranks.emplace_back(internal::parse_number(words[i].text, "rank", words[i].place));
    return ranks;
  }

  void weights(const std::vector<Word>& words) {
    if (words.size() != 2 && !(words.size() == 4 && words[2].text == "per"))
      fail_at(words.front().place,
              "\"weights\" is followed by a rule, and by \"per N\" where updates come earlier than "
              "at the end, such as: weights double-buffer per 4");
    std::size_t rule = 0;
    while (rule < kRules.size() && kRules[rule] != words[1].text) ++rule;
    if (rule == kRules.size())
      fail_at(words[1].place, unknown_name("weight rule", words[1].text,
                                           std::vector<std::string>(kRules.begin(), kRules.end())));
    schedule_.weights.rule = static_cast<WeightRule>(rule);
    if (words.size() == 4)
      schedule_.weights.micro_batches_per_update =
          internal::parse_number(words[3].text, "micro-batches per update", words[3].place);
  }

  void rank(const std::vector<Word>& words) {
    if (words.size() < 2 || !words[1].text.ends_with(':'))
      fail_at(words.front().place, "expected \"rank N:\" and its actions");
    std::string_view number = words[1].text;
    number.remove_suffix(1);
    const int rank = internal::parse_number(number, "rank", words[1].place);
    if (rank != static_cast<int>(schedule_.ranks.size()))
      fail_at(words[1].place,
              fmt::format("rank {} stands where rank {} is expected; write the ranks "
                          "in order, each once",
                          rank, schedule_.ranks.size()));
    auto& list = schedule_.ranks.emplace_back();
    for (std::size_t i = 2; i < words.size(); ++i)
      internal::parse_actions(words[i].text, words[i].place, internal::PyTorchTokens::No, list);
  }

  std::string_view source_;
  Schedule schedule_;
  std::vector<std::string_view> seen_;
};

template <class Numbers>
void write_numbers(std::string& text, std::string_view key, const Numbers& numbers) {
  text += key;
  for (const auto& number : numbers) {
    if constexpr (std::is_same_v<std::decay_t<decltype(number)>, RankId>)
      text += fmt::format(" {}", number.value);
    else
      text += fmt::format(" {}", number);
  }
  text += '\n';
}

}  // namespace

std::string to_text(const Schedule& schedule) {
  std::string text = fmt::format("{}\n", kFirstLine);
  if (!schedule.name.empty()) text += fmt::format("name {}\n", schedule.name);
  text += fmt::format("micro-batches {}\n", schedule.micro_batches);
  if (schedule.slices != 1) text += fmt::format("slices {}\n", schedule.slices);
  for (const Placement& placement : schedule.copies) write_numbers(text, "place", placement);
  if (!schedule.flow.empty()) write_numbers(text, "flow", schedule.flow);
  if (!schedule.hosts.empty()) write_numbers(text, "hosts", schedule.hosts);
  const WeightPolicy& weights = schedule.weights;
  if (weights.rule != WeightRule::Synchronous || weights.micro_batches_per_update != 0) {
    text += fmt::format("weights {}", kRules[static_cast<std::size_t>(weights.rule)]);
    if (weights.micro_batches_per_update != 0)
      text += fmt::format(" per {}", weights.micro_batches_per_update);
    text += '\n';
  }
  if (!weights.versions.empty()) write_numbers(text, "versions", weights.versions);
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    text += fmt::format("rank {}: {}\n", rank,
                        internal::write_actions(schedule.ranks[rank], schedule.slices > 1, " "));
  return text;
}

Schedule parse_schedule(std::string_view text, std::string_view source) {
  const auto lines = internal::lines_of(text, source);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto words = words_of(lines[i].substr(0, lines[i].find('#')), source, i + 1);
    if (words.empty()) continue;
    if (words.front().text != "headrace-schedule") break;
    if (words.size() != 2 || words[1].text != "1")
      fail_at(words.front().place,
              fmt::format("expected \"{}\", the only version there is", kFirstLine));
    return Reader(source).run(lines);
  }
  return parse_csv(text, source);
}

}  // namespace headrace
