// SPDX-License-Identifier: Apache-2.0
#include "headrace/config/parse.h"

#include "headrace/base/error.h"
#include "headrace/base/text.h"
#include "headrace/config/internal/keys.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace headrace {
namespace {

std::string place_of(std::string_view source, const toml::source_region& region) {
  return fmt::format("{}:{}:{}", source, region.begin.line, region.begin.column);
}

// Whether some key lies below `name`, so that it is a table.
bool is_table(std::string_view name) {
  for (const internal::Key& key : internal::keys())
    if (key.name.size() > name.size() && key.name.starts_with(name) && key.name[name.size()] == '.')
      return true;
  return false;
}

void set_key(TrainConfig& config, const internal::Key& key, const toml::node& node,
             const std::string& place) {
  try {
    key.set(config, node);
  } catch (const UsageError& error) {
    throw ParseError(fmt::format("{}: {} {}", place, key.name, error.what()));
  }
}

void read_table(TrainConfig& config, const toml::table& table, const std::string& prefix,
                std::string_view source) {
  for (const auto& [short_name, node] : table) {
    const std::string name = prefix + std::string(short_name.str());
    const std::string place = place_of(source, short_name.source());
    if (is_table(name)) {
      if (!node.is_table())
        throw ParseError(fmt::format("{}: {} is a table of keys; write [{}] and its keys below",
                                     place, name, name));
      read_table(config, *node.as_table(), name + ".", source);
      continue;
    }
    const internal::Key* key = internal::find_key(name);
    if (key == nullptr)
      throw ParseError(
          fmt::format("{}: {}", place, unknown_name("key", name, train_config_keys())));
    set_key(config, *key, node, place_of(source, node.source()));
  }
}

void apply_override(TrainConfig& config, const Override& change) {
  const std::string place = "--set " + quote_for_message(change.key);
  const internal::Key* key = internal::find_key(change.key);
  if (key == nullptr)
    throw ParseError(
        fmt::format("{}: {}", place, unknown_name("key", change.key, train_config_keys())));
  toml::table parsed;
  try {
    parsed = toml::parse("value = " + change.value);
  } catch (const toml::parse_error&) {
    parsed.clear();
  }
  const toml::node* node = parsed.size() == 1 ? parsed.get("value") : nullptr;
  const toml::value<std::string> word(change.value);
  // A bare word, or a number where text is meant (a run named 12).
  if (key->holds_text && (node == nullptr || !(node->is_string() || node->is_array())))
    node = &word;
  if (node == nullptr)
    throw ParseError(
        fmt::format("{}: \"{}\" is no value; write a number, true, false, text, or a "
                    "list such as [3, 5]",
                    place, quote_for_message(change.value)));
  set_key(config, *key, *node, place);
}

}  // namespace

TrainConfig parse_train_config(std::string_view toml, std::string_view source,
                               const std::vector<Override>& overrides) {
  toml::table table;
  try {
    table = toml::parse(toml, source);
  } catch (const toml::parse_error& error) {
    throw ParseError(fmt::format("{}: {}", place_of(source, error.source()), error.description()));
  }
  TrainConfig config;
  read_table(config, table, "", source);
  for (const Override& change : overrides) apply_override(config, change);
  return config;
}

TrainConfig load_train_config(const std::string& path, const std::vector<Override>& overrides) {
  if (std::filesystem::is_directory(path))
    throw IoError(fmt::format("{}: is a folder; name a TOML file", path));
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file) throw IoError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  return parse_train_config(text.str(), path, overrides);
}

std::string to_toml(const TrainConfig& config) {
  std::string text;
  std::string table;
  for (const internal::Key& key : internal::keys()) {
    const auto dot = key.name.find('.');
    const std::string own = dot == std::string::npos ? "" : key.name.substr(0, dot);
    if (own != table) text += fmt::format("\n[{}]\n", own);
    table = own;
    text += fmt::format("{} = {}\n", dot == std::string::npos ? key.name : key.name.substr(dot + 1),
                        key.write(config));
  }
  return text;
}

std::vector<std::string> train_config_keys() {
  std::vector<std::string> names;
  for (const internal::Key& key : internal::keys()) names.push_back(key.name);
  return names;
}

}  // namespace headrace
