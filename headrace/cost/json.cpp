// SPDX-License-Identifier: Apache-2.0
#include "headrace/cost/json.h"

#include "headrace/cost/internal/json_reader.h"

#include <fmt/format.h>

#include <type_traits>
#include <variant>
#include <vector>

namespace headrace {
namespace {

using internal::JsonPlace;
using OrderedJson = nlohmann::ordered_json;

// A key of an object and the member that it fills; writing and reading follow the same table.
template <class T>
struct Field {
  const char* key;
  std::variant<Time T::*, Bytes T::*, std::int64_t T::*> member;
  bool required = false;
  std::int64_t least = 0;
};

constexpr Field<LayerProfile> kLayer[] = {{"forward_ns", &LayerProfile::forward, true},
                                          {"input_grad_ns", &LayerProfile::input_grad, true},
                                          {"weight_grad_ns", &LayerProfile::weight_grad, true},
                                          {"flops", &LayerProfile::flops},
                                          {"parameters", &LayerProfile::parameters},
                                          {"weights_bytes", &LayerProfile::weights},
                                          {"activation_bytes", &LayerProfile::activation},
                                          {"output_bytes", &LayerProfile::output}};

constexpr Field<StageCost> kStage[] = {
    {"forward_ns", &StageCost::forward, true},
    {"input_grad_ns", &StageCost::input_grad, true},
    {"weight_grad_ns", &StageCost::weight_grad, true},
    {"recompute_ns", &StageCost::recompute},
    {"update_ns", &StageCost::update},
    {"weights_bytes", &StageCost::weights},
    {"gradients_bytes", &StageCost::gradients},
    {"optimizer_bytes", &StageCost::optimizer},
    {"activation_bytes", &StageCost::activation},
    {"freed_by_input_grad_bytes", &StageCost::freed_by_input_grad},
    {"working_bytes", &StageCost::working},
    {"output_bytes", &StageCost::output}};

constexpr Field<ActionTimes> kTimes[] = {{"forward_ns", &ActionTimes::forward, true},
                                         {"input_grad_ns", &ActionTimes::input_grad, true},
                                         {"weight_grad_ns", &ActionTimes::weight_grad, true}};

constexpr Field<RankSpec> kRank[] = {{"memory_bytes", &RankSpec::memory},
                                     {"speed_permille", &RankSpec::speed_permille, false, 1}};

constexpr Field<Link> kLink[] = {{"latency_ns", &Link::latency},
                                 {"bytes_per_second", &Link::bytes_per_second}};

template <class T, std::size_t N>
OrderedJson write(const T& value, const Field<T> (&fields)[N]) {
  OrderedJson object = OrderedJson::object();
  for (const Field<T>& field : fields)
    std::visit(
        [&](auto member) {
          using Member = std::remove_cvref_t<decltype(value.*member)>;
          if constexpr (std::is_same_v<Member, Time>)
            object[field.key] = (value.*member).count();
          else if constexpr (std::is_same_v<Member, Bytes>)
            object[field.key] = (value.*member).value;
          else
            object[field.key] = value.*member;
        },
        field.member);
  return object;
}

// `beside` are keys that the caller reads.
template <class T, std::size_t N>
T read(const JsonPlace& place, const Field<T> (&fields)[N], std::vector<std::string> beside = {}) {
  for (const Field<T>& field : fields) beside.emplace_back(field.key);
  place.expect_keys(beside);
  T value;
  for (const Field<T>& field : fields) {
    if (!field.required && !place.has(field.key)) continue;
    const JsonPlace at = place.at(field.key);
    std::visit(
        [&](auto member) {
          using Member = std::remove_cvref_t<decltype(value.*member)>;
          if constexpr (std::is_same_v<Member, Time>)
            value.*member = Time(at.number("whole nanoseconds, 0 or more"));
          else if constexpr (std::is_same_v<Member, Bytes>)
            value.*member = Bytes(at.number("whole bytes, 0 or more"));
          else
            value.*member =
                at.number(fmt::format("a whole number, {} or more", field.least), field.least);
        },
        field.member);
  }
  return value;
}

template <class T, std::size_t N>
OrderedJson write_list(const std::vector<T>& values, const Field<T> (&fields)[N]) {
  OrderedJson list = OrderedJson::array();
  for (const T& value : values) list.push_back(write(value, fields));
  return list;
}

std::string finished(const OrderedJson& json) {
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

// The first key of each form names it and its version.
void expect_version(const JsonPlace& whole, const std::string& key) {
  static_cast<void>(whole.at(key).number("1, the only version there is", 1, 1));
}

}  // namespace

std::string to_json(const ModelProfile& profile) {
  OrderedJson layers = OrderedJson::array();
  for (const LayerProfile& layer : profile.layers) {
    OrderedJson object{{"name", layer.name}};
    object.update(write(layer, kLayer));
    layers.push_back(std::move(object));
  }
  return finished({{"headrace_profile", 1}, {"name", profile.name}, {"layers", layers}});
}

ModelProfile parse_model_profile(std::string_view json, std::string_view source) {
  const internal::Json parsed = internal::parse_json(json, source);
  const JsonPlace whole(parsed, std::string(source));
  whole.expect_keys({"headrace_profile", "name", "layers"});
  expect_version(whole, "headrace_profile");
  ModelProfile profile;
  if (whole.has("name")) profile.name = whole.at("name").text();
  for (const JsonPlace& place : whole.at("layers").entries()) {
    profile.layers.push_back(read(place, kLayer, {"name"}));
    if (place.has("name")) profile.layers.back().name = place.at("name").text();
  }
  return profile;
}

std::string to_json(const StageCosts& costs) {
  OrderedJson json{{"headrace_costs", 1}, {"stages", write_list(costs.stages, kStage)}};
  if (!costs.per_micro_batch.empty()) {
    OrderedJson& all = json["per_micro_batch"] = OrderedJson::array();
    for (const auto& stage : costs.per_micro_batch) all.push_back(write_list(stage, kTimes));
  }
  if (costs.pair) json["pair_ns"] = costs.pair->count();
  return finished(json);
}

StageCosts parse_stage_costs(std::string_view json, std::string_view source) {
  const internal::Json parsed = internal::parse_json(json, source);
  const JsonPlace whole(parsed, std::string(source));
  whole.expect_keys({"headrace_costs", "stages", "per_micro_batch", "pair_ns"});
  expect_version(whole, "headrace_costs");
  StageCosts costs;
  for (const JsonPlace& place : whole.at("stages").entries()) {
    costs.stages.push_back(read(place, kStage));
    const StageCost& stage = costs.stages.back();
    if (stage.freed_by_input_grad > stage.activation)
      place.at("freed_by_input_grad_bytes")
          .fail(fmt::format("a part of activation_bytes, {}", stage.activation.value));
  }
  if (whole.has("pair_ns"))
    costs.pair = Time(whole.at("pair_ns").number("whole nanoseconds, 0 or more"));
  if (!whole.has("per_micro_batch")) return costs;
  const auto rows = whole.at("per_micro_batch").entries();
  if (rows.size() != costs.stages.size())
    whole.fail_with(
        fmt::format("per_micro_batch has {} lists, but there are {} stages; write one "
                    "list for each stage",
                    rows.size(), costs.stages.size()));
  for (const JsonPlace& row : rows) {
    auto& times = costs.per_micro_batch.emplace_back();
    for (const JsonPlace& place : row.entries()) times.push_back(read(place, kTimes));
  }
  return costs;
}

std::string to_json(const Machine& machine) {
  OrderedJson links = OrderedJson::array();
  for (const auto& [ends, link] : machine.links) {
    OrderedJson object{{"from", ends.first.value}, {"to", ends.second.value}};
    object.update(write(link, kLink));
    links.push_back(std::move(object));
  }
  return finished({{"headrace_machine", 1},
                   {"ranks", write_list(machine.ranks, kRank)},
                   {"link", write(machine.link, kLink)},
                   {"links", links},
                   {"links_contend", machine.links_contend},
                   {"sends_block", machine.sends_block}});
}

Machine parse_machine_json(std::string_view json, std::string_view source) {
  const internal::Json parsed = internal::parse_json(json, source);
  const JsonPlace whole(parsed, std::string(source));
  whole.expect_keys({"headrace_machine", "ranks", "link", "links", "links_contend", "sends_block"});
  expect_version(whole, "headrace_machine");
  Machine machine;
  for (const JsonPlace& place : whole.at("ranks").entries())
    machine.ranks.push_back(read(place, kRank));
  const auto last = static_cast<std::int64_t>(machine.ranks.size()) - 1;
  if (last < 0) whole.at("ranks").fail("one rank or more");
  if (whole.has("link")) machine.link = read(whole.at("link"), kLink);
  if (whole.has("links"))
    for (const JsonPlace& place : whole.at("links").entries()) {
      const Link link = read(place, kLink, {"from", "to"});
      const std::string expected = fmt::format("a rank from 0 to {}", last);
      const RankId from(place.at("from").number(expected, 0, last));
      const RankId to(place.at("to").number(expected, 0, last));
      if (from == to) place.at("to").fail("another rank than \"from\"");
      if (!machine.links.emplace(std::pair(from, to), link).second)
        place.fail_with(fmt::format("links name the direction from {} to {} twice; leave one",
                                    from.value, to.value));
    }
  if (whole.has("links_contend")) machine.links_contend = whole.at("links_contend").truth();
  if (whole.has("sends_block")) machine.sends_block = whole.at("sends_block").truth();
  return machine;
}

}  // namespace headrace
