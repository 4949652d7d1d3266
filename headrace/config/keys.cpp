// SPDX-License-Identifier: Apache-2.0
#include "headrace/config/internal/keys.h"

#include "headrace/base/error.h"
#include "headrace/base/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>
#include <type_traits>

namespace headrace::internal {
namespace {

std::string shown(const toml::node& node) {
  std::ostringstream text;
  node.visit([&](const auto& value) { text << value; });
  return quote_for_message(text.str());
}

[[noreturn]] void refuse(const toml::node& node, std::string_view expected) {
  throw UsageError(fmt::format("is {}; expected {}", shown(node), expected));
}

std::int64_t whole(const toml::node& node, std::int64_t least, std::int64_t most) {
  const auto value = node.is_integer() ? node.value<std::int64_t>() : std::nullopt;
  if (!value) refuse(node, "a whole number");
  if (*value < least || *value > most) refuse(node, fmt::format("{} to {}", least, most));
  return *value;
}

// One reader and one writer per type of value.
void read(const toml::node& node, int& out) {
  out = static_cast<int>(
      whole(node, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
}
void read(const toml::node& node, std::uint64_t& out) {
  out = static_cast<std::uint64_t>(whole(node, 0, std::numeric_limits<std::int64_t>::max()));
}
void read(const toml::node& node, double& out) {
  const auto value = node.is_number() ? node.value<double>() : std::nullopt;
  if (!value || !std::isfinite(*value)) refuse(node, "a finite number");
  out = *value;
}
void read(const toml::node& node, bool& out) {
  if (!node.is_boolean()) refuse(node, "true or false");
  out = *node.value<bool>();
}
void read(const toml::node& node, std::string& out) {
  if (!node.is_string()) refuse(node, "text in quotes");
  out = *node.value<std::string>();
}
void read(const toml::node& node, Time& out) {
  if (!node.is_string()) refuse(node, "a time in quotes, such as \"300s\"");
  try {
    out = parse_time(*node.value<std::string>());
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("is no time: {}", error.what()));
  }
}
template <class Item>
void read(const toml::node& node, std::vector<Item>& out) {
  std::vector<Item> items;
  if (const toml::array* array = node.as_array()) {
    for (const toml::node& item : *array) read(item, items.emplace_back());
  } else {
    read(node, items.emplace_back());
  }
  out = std::move(items);
}

std::string written(int value) {
  return fmt::format("{}", value);
}
std::string written(std::uint64_t value) {
  return fmt::format("{}", value);
}
std::string written(bool value) {
  return value ? "true" : "false";
}
std::string written(double value) {
  std::string text = fmt::format("{}", value);
  // TOML tells floats from whole numbers by the point or the exponent.
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}
std::string written(const std::string& value) {
  std::ostringstream text;
  text << toml::value<std::string>(value);
  return text.str();
}
std::string written(Time value) {
  return fmt::format("\"{}ns\"", value.count());
}
template <class Item>
std::string written(const std::vector<Item>& values) {
  std::vector<std::string> items;
  for (const Item& item : values) items.push_back(written(item));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

template <class T>
inline constexpr bool kHoldsText = std::is_same_v<T, std::string> || std::is_same_v<T, Time> ||
                                   std::is_same_v<T, std::vector<std::string>>;

// `access` names the member: [](auto& c) -> auto& { return c.pipeline.ranks; }
template <class Access>
Key key(std::string name, Access access) {
  using Value = std::remove_reference_t<decltype(access(std::declval<TrainConfig&>()))>;
  return {std::move(name), kHoldsText<Value>,
          [access](TrainConfig& config, const toml::node& node) { read(node, access(config)); },
          [access](const TrainConfig& config) { return written(access(config)); }};
}

#define HEADRACE_KEY(name, member) \
  key(                             \
      name, [](auto& c) -> auto& { return c.member; })

std::vector<Key> make_keys() {
  return {HEADRACE_KEY("name", name),
          HEADRACE_KEY("seed", seed),
          HEADRACE_KEY("steps", steps),
          HEADRACE_KEY("batch", batch),
          HEADRACE_KEY("data.text", data.text),
          HEADRACE_KEY("data.sequence", data.sequence),
          HEADRACE_KEY("data.held_out", data.held_out),
          HEADRACE_KEY("model.kind", model.kind),
          HEADRACE_KEY("model.layers", model.layers),
          HEADRACE_KEY("model.d_model", model.d_model),
          HEADRACE_KEY("model.heads", model.heads),
          HEADRACE_KEY("model.d_hidden", model.d_hidden),
          HEADRACE_KEY("model.vocabulary", model.vocabulary),
          HEADRACE_KEY("model.tied_head", model.tied_head),
          HEADRACE_KEY("model.dropout", model.dropout),
          HEADRACE_KEY("pipeline.ranks", pipeline.ranks),
          HEADRACE_KEY("pipeline.schedule", pipeline.schedule),
          HEADRACE_KEY("pipeline.micro_batches", pipeline.micro_batches),
          HEADRACE_KEY("pipeline.cut", pipeline.cut),
          HEADRACE_KEY("pipeline.threads_per_rank", pipeline.threads_per_rank),
          HEADRACE_KEY("pipeline.timeout", pipeline.timeout),
          HEADRACE_KEY("optimizer.kind", optimizer.kind),
          HEADRACE_KEY("optimizer.learning_rate", optimizer.learning_rate),
          HEADRACE_KEY("optimizer.min_learning_rate", optimizer.min_learning_rate),
          HEADRACE_KEY("optimizer.warmup_steps", optimizer.warmup_steps),
          HEADRACE_KEY("optimizer.beta1", optimizer.beta1),
          HEADRACE_KEY("optimizer.beta2", optimizer.beta2),
          HEADRACE_KEY("optimizer.epsilon", optimizer.epsilon),
          HEADRACE_KEY("optimizer.weight_decay", optimizer.weight_decay),
          HEADRACE_KEY("optimizer.momentum", optimizer.momentum),
          HEADRACE_KEY("optimizer.clip_norm", optimizer.clip_norm),
          HEADRACE_KEY("eval.every", eval.every),
          HEADRACE_KEY("eval.batches", eval.batches)};
}

}  // namespace

const std::vector<Key>& keys() {
  static const std::vector<Key> table = make_keys();
  return table;
}

const Key* find_key(std::string_view name) {
  for (const Key& key : keys())
    if (key.name == name) return &key;
  return nullptr;
}

}  // namespace headrace::internal
