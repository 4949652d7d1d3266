// SPDX-License-Identifier: Apache-2.0
#include "headrace/cli/cost_options.h"

#include "headrace/base/error.h"
#include "headrace/base/units.h"

namespace headrace::cli {
namespace {

constexpr const char* kNames[] = {
    "--forward",      "--input-grad", "--weight-grad", "--pair-cost",        "--latency",
    "--output-bytes", "--bandwidth",  "--contend",     "--activation-bytes", "--memory-limit"};

}  // namespace

void CostOptions::add_to(CLI::App& command, bool required) {
  command_ = &command;
  command.add_option("--forward", forward_, "time of F of one stage, such as 1us")
      ->required(required);
  command.add_option("--input-grad", input_grad_, "time of I of one stage")->required(required);
  command.add_option("--weight-grad", weight_grad_, "time of W of one stage; a fused B takes both")
      ->required(required);
  command.add_option("--pair-cost", pair_, "time of an overlapped pair; the sum if not given");
  command.add_option("--latency", latency_, "of every link");
  command.add_option("--bandwidth", bandwidth_, "bytes per second of every link");
  command.add_option("--output-bytes", output_bytes_, "size of one message");
  command.add_flag("--contend", contend_, "messages of one link wait for each other");
  command.add_option("--activation-bytes", activation_bytes_,
                     "held per stage and micro-batch from F to its release");
  command.add_option("--memory-limit", memory_limit_,
                     "bytes of activations per rank that automatic methods keep to");
}

bool CostOptions::given() const {
  for (const char* name : kNames)
    if (command_->get_option(name)->count() > 0) return true;
  return false;
}

StageCosts CostOptions::stage_costs(int stages) const {
  StageCosts costs = uniform_costs(stages, parse_time(forward_), parse_time(input_grad_),
                                   parse_time(weight_grad_));
  if (!pair_.empty()) costs.pair = parse_time(pair_);
  for (StageCost& stage : costs.stages) {
    stage.output = parse_bytes(output_bytes_);
    stage.activation = parse_bytes(activation_bytes_);
  }
  return costs;
}

Machine CostOptions::machine(int ranks) const {
  Link link{parse_time(latency_), 0};
  if (!bandwidth_.empty()) {
    link.bytes_per_second = parse_bytes(bandwidth_).value;
    if (link.bytes_per_second < 1)
      throw UsageError("--bandwidth is 0; expected bytes per second, such as 25GB");
    if (parse_bytes(output_bytes_).value == 0)
      throw UsageError("--bandwidth says nothing without --output-bytes, the size of a message");
  } else if (contend_) {
    throw UsageError("--contend says nothing without --bandwidth: a message must occupy its link");
  }
  Machine machine = uniform_machine(ranks, link);
  machine.links_contend = contend_;
  return machine;
}

ScheduleCosts CostOptions::schedule_costs(int ranks) const {
  ScheduleCosts costs;
  if (!given()) return costs;
  ScheduleStageCost stage;
  stage.forward = parse_time(forward_);
  stage.input_grad = parse_time(input_grad_);
  stage.weight_grad = parse_time(weight_grad_);
  const Bytes activation = parse_bytes(activation_bytes_);
  if (activation.value > 0) stage.activation = activation.value;
  costs.stages.assign(static_cast<std::size_t>(ranks), stage);
  costs.latency = transfer_time(machine(2).link, parse_bytes(output_bytes_));
  if (memory_limit_.empty()) return costs;
  if (activation.value == 0)
    throw UsageError("--memory-limit says nothing without --activation-bytes, the size of one");
  costs.limit = parse_bytes(memory_limit_).value;
  if (costs.limit < 1) throw UsageError("--memory-limit is 0; expected bytes, such as 16GiB");
  return costs;
}

}  // namespace headrace::cli
