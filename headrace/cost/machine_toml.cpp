// SPDX-License-Identifier: Apache-2.0
#include "headrace/cost/machine_toml.h"

#include "headrace/base/error.h"
#include "headrace/base/text.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <vector>

namespace headrace {
namespace {

// More ranks than any schedule has; the list of them must fit in memory whatever a file says.
constexpr std::int64_t kMostRanks = 1'000'000;

std::string shown(const toml::node& node) {
  if (node.is_table()) return "a table";
  if (node.is_array()) return "a list";
  std::ostringstream text;
  node.visit([&](const auto& value) {
    if constexpr (toml::is_string<decltype(value)>)
      text << '"' << quote_for_message(*value) << '"';
    else if constexpr (toml::is_value<decltype(value)>)
      text << value;
  });
  return text.str();
}

// A table of the file, with the words that name it in messages ("link ").
class Table {
 public:
  Table(const toml::table& table, std::string_view source, std::string name,
        const std::vector<std::string>& known)
      : table_(table), source_(source), name_(std::move(name)) {
    for (const auto& [key, node] : table_)
      if (std::find(known.begin(), known.end(), key.str()) == known.end())
        fail(key.source(), unknown_name(name_ + "key", key.str(), known));
  }

  [[nodiscard]] bool has(std::string_view key) const { return table_.contains(key); }

  [[nodiscard]] std::int64_t number(std::string_view key, std::int64_t least, std::int64_t most,
                                    std::string_view expected) const {
    const toml::node& node = at(key);
    const auto value = node.is_integer() ? node.value<std::int64_t>() : std::nullopt;
    if (!value || *value < least || *value > most) fail_value(key, expected);
    return *value;
  }

  [[nodiscard]] bool truth(std::string_view key) const {
    const auto value = at(key).is_boolean() ? at(key).value<bool>() : std::nullopt;
    if (!value) fail_value(key, "true or false");
    return *value;
  }

  [[nodiscard]] Time time(std::string_view key) const {
    const auto text = at(key).value<std::string>();
    try {
      if (text) return parse_time(*text);
    } catch (const UsageError&) {
      // Said below, with the place.
    }
    fail_value(key, "a time in whole nanoseconds, such as \"5us\"");
  }

  [[nodiscard]] Bytes bytes(std::string_view key) const {
    constexpr std::string_view kExpected = "whole bytes, such as 85899345920 or \"80GiB\"";
    if (!at(key).is_string()) return Bytes(number(key, 0, INT64_MAX, kExpected));
    try {
      return parse_bytes(*at(key).value<std::string>());
    } catch (const UsageError&) {
      fail_value(key, kExpected);
    }
  }

  // 25000000000 or 25e9; a fraction of a byte per second is refused.
  [[nodiscard]] std::int64_t bytes_per_second(std::string_view key) const {
    const toml::node& node = at(key);
    double value = 0;
    if (node.is_integer()) {
      const auto whole = *node.value<std::int64_t>();
      if (whole > 0) return whole;
    } else if (node.is_floating_point()) {
      value = *node.value<double>();
    }
    if (!(value >= 1 && value < 9.2e18 && std::floor(value) == value))
      fail_value(key, "bytes per second as a number, such as 25e9");
    return static_cast<std::int64_t>(value);
  }

  // The tables of [[key]], and none where it is missing.
  [[nodiscard]] std::vector<const toml::table*> tables(std::string_view key) const {
    std::vector<const toml::table*> all;
    if (!has(key)) return all;
    const toml::array* list = at(key).as_array();
    if (list == nullptr) fail_value(key, fmt::format("tables that begin with [[{}]]", key));
    for (const toml::node& node : *list) {
      if (!node.is_table()) fail_value(key, fmt::format("tables that begin with [[{}]]", key));
      all.push_back(node.as_table());
    }
    return all;
  }
  [[nodiscard]] const toml::table* table(std::string_view key) const {
    if (!has(key)) return nullptr;
    if (!at(key).is_table()) fail_value(key, fmt::format("a table that begins with [{}]", key));
    return at(key).as_table();
  }

  [[noreturn]] void fail_value(std::string_view key, std::string_view expected) const {
    fail(at(key).source(),
         fmt::format("{}{} is {}; expected {}", name_, key, shown(at(key)), expected));
  }
  [[noreturn]] void fail(const toml::source_region& region, std::string_view words) const {
    throw ParseError(
        fmt::format("{}:{}:{}: {}", source_, region.begin.line, region.begin.column, words));
  }

 private:
  [[nodiscard]] const toml::node& at(std::string_view key) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) fail(table_.source(), fmt::format("{}{} is missing", name_, key));
    return *node;
  }

  const toml::table& table_;
  std::string_view source_;
  std::string name_;
};

void read_rank(const Table& table, RankSpec& rank) {
  if (table.has("memory")) rank.memory = table.bytes("memory");
  if (table.has("speed_permille"))
    rank.speed_permille =
        table.number("speed_permille", 1, INT64_MAX, "1 or more; 1000 is the usual speed");
}

Link read_link(const Table& table) {
  Link link;
  if (table.has("latency")) link.latency = table.time("latency");
  if (table.has("bandwidth")) link.bytes_per_second = table.bytes_per_second("bandwidth");
  return link;
}

RankId read_rank_number(const Table& table, std::string_view key, const Machine& machine) {
  const auto last = static_cast<std::int64_t>(machine.ranks.size()) - 1;
  return RankId(table.number(key, 0, last, fmt::format("a rank from 0 to {}", last)));
}

void read_ranks_that_differ(const Table& whole, std::string_view source, Machine& machine) {
  std::set<RankId> named;
  for (const toml::table* entry : whole.tables("rank")) {
    const Table table(*entry, source, "rank ", {"number", "memory", "speed_permille"});
    const RankId rank = read_rank_number(table, "number", machine);
    if (!named.insert(rank).second) table.fail_value("number", "a rank that is not named before");
    read_rank(table, machine.ranks[rank.index()]);
  }
}

void read_links_that_differ(const Table& whole, std::string_view source, Machine& machine) {
  for (const toml::table* entry : whole.tables("links")) {
    const Table table(*entry, source, "link ", {"from", "to", "latency", "bandwidth"});
    const RankId from = read_rank_number(table, "from", machine);
    const RankId to = read_rank_number(table, "to", machine);
    if (from == to) table.fail_value("to", "another rank than \"from\"");
    if (!machine.links.emplace(std::pair(from, to), read_link(table)).second)
      table.fail_value("to", fmt::format("a direction that is not named before; {} to {} is",
                                         from.value, to.value));
  }
}

std::string link_keys(const Link& link) {
  std::string text = fmt::format("latency = \"{}ns\"\n", link.latency.count());
  if (link.bytes_per_second > 0) text += fmt::format("bandwidth = {}\n", link.bytes_per_second);
  return text;
}

std::string rank_keys(const RankSpec& rank) {
  return fmt::format("memory = {}\nspeed_permille = {}\n", rank.memory.value, rank.speed_permille);
}

}  // namespace

Machine parse_machine(std::string_view toml, std::string_view source) {
  toml::table parsed;
  try {
    parsed = toml::parse(toml, source);
  } catch (const toml::parse_error& error) {
    throw ParseError(fmt::format("{}:{}:{}: {}", source, error.source().begin.line,
                                 error.source().begin.column, error.description()));
  }
  const Table whole(parsed, source, "",
                    {"ranks", "memory", "speed_permille", "links_contend", "sends_block", "link",
                     "rank", "links"});
  const std::int64_t ranks =
      whole.number("ranks", 1, kMostRanks, fmt::format("a number from 1 to {}", kMostRanks));
  RankSpec usual;
  read_rank(whole, usual);
  Machine machine;
  machine.ranks.assign(static_cast<std::size_t>(ranks), usual);
  if (const toml::table* link = whole.table("link"))
    machine.link = read_link(Table(*link, source, "link ", {"latency", "bandwidth"}));
  if (whole.has("links_contend")) machine.links_contend = whole.truth("links_contend");
  if (whole.has("sends_block")) machine.sends_block = whole.truth("sends_block");
  read_ranks_that_differ(whole, source, machine);
  read_links_that_differ(whole, source, machine);
  return machine;
}

Machine load_machine(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  // A folder opens like a file and fails when it is read.
  file.peek();
  if (!file.is_open() || file.bad())
    throw IoError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  std::ostringstream text;
  text << file.rdbuf();
  return parse_machine(text.str(), path);
}

std::string to_toml(const Machine& machine) {
  HEADRACE_CHECK(!machine.ranks.empty(), "a machine of {} ranks", machine.ranks.size());
  const RankSpec& usual = machine.ranks.front();
  std::string text = fmt::format("ranks = {}\n{}links_contend = {}\nsends_block = {}\n\n[link]\n{}",
                                 machine.ranks.size(), rank_keys(usual), machine.links_contend,
                                 machine.sends_block, link_keys(machine.link));
  for (std::size_t r = 0; r < machine.ranks.size(); ++r)
    if (machine.ranks[r] != usual)
      text += fmt::format("\n[[rank]]\nnumber = {}\n{}", r, rank_keys(machine.ranks[r]));
  for (const auto& [ends, link] : machine.links)
    text += fmt::format("\n[[links]]\nfrom = {}\nto = {}\n{}", ends.first.value, ends.second.value,
                        link_keys(link));
  return text;
}

}  // namespace headrace
