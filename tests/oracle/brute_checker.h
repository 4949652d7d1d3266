// SPDX-License-Identifier: Apache-2.0
//
// verify()'s slow and obvious twin: actions are strings, lists are scanned again and again, and a
// schedule is valid if everything is there once and in-order execution reaches the end. Lowered
// lists run with sends that wait for their receiver. For one copy of each stage, without slices.
#pragma once

#include "headrace/schedule/schedule.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace headrace::test {

class BruteChecker {
 public:
  explicit BruteChecker(const Schedule& schedule)
      : schedule_(schedule), lowered_(schedule.is_lowered()) {
    for (const auto& list : schedule.ranks) {
      lists_.emplace_back();
      for (const Action& a : list) lists_.back().push_back(to_text(a));
    }
  }

  bool valid() { return complete() && finishes(); }

 private:
  using Name = std::string;
  static Name name(int stage, const std::string& kind, int k) {
    return std::to_string(stage) + kind + std::to_string(k);
  }
  int rank_of(int stage) const {
    return schedule_.copies[0][static_cast<std::size_t>(stage)].value;
  }

  // Every name at most once, on its rank, and exactly the right ones.
  bool complete() {
    std::map<Name, int> rank_of_name;
    for (std::size_t r = 0; r < lists_.size(); ++r)
      for (const Name& a : lists_[r])
        if (!rank_of_name.emplace(a, static_cast<int>(r)).second) return false;
    std::set<Name> wanted;
    const auto want = [&](int stage, const std::string& kind, int k) {
      const auto found = rank_of_name.find(name(stage, kind, k));
      if (found == rank_of_name.end() || found->second != rank_of(stage)) return false;
      wanted.insert(found->first);
      return true;
    };
    // A schedule without any backward is an inference.
    bool forward_only = true;
    for (const auto& [action, rank] : rank_of_name)
      forward_only = forward_only && action.find_first_of("BIW") == Name::npos;
    const int stages = schedule_.stage_count();
    for (int s = 0; s < stages; ++s)
      for (int k = 0; k < schedule_.micro_batches; ++k) {
        if (!want(s, "F", k)) return false;
        if (forward_only) {
          if (lowered_ && s + 1 < stages && rank_of(s) != rank_of(s + 1) &&
              !(want(s, "SEND_F", k) && want(s + 1, "RECV_F", k)))
            return false;
          continue;
        }
        const bool whole = rank_of_name.count(name(s, "B", k)) > 0;
        if (whole ? !want(s, "B", k) : !(want(s, "I", k) && want(s, "W", k))) return false;
        if (!lowered_ || s + 1 == stages || rank_of(s) == rank_of(s + 1)) continue;
        if (!want(s, "SEND_F", k) || !want(s + 1, "RECV_F", k) || !want(s + 1, "SEND_B", k) ||
            !want(s, "RECV_B", k))
          return false;
      }
    return wanted.size() == rank_of_name.size();
  }

  bool finishes() {
    std::vector<std::size_t> at(lists_.size(), 0);
    std::set<Name> done;
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t r = 0; r < lists_.size(); ++r) {
        if (at[r] == lists_[r].size()) continue;
        const Action& a = schedule_.ranks[r][at[r]];
        if (is_compute(a.kind) && ready(a, done)) {
          done.insert(lists_[r][at[r]++]);
          moved = true;
        } else if (is_send(a.kind) && made(a, done)) {
          const int step = a.kind == ActionKind::SendForward ? 1 : -1;
          const auto peer = static_cast<std::size_t>(rank_of(a.stage.value + step));
          const Name receive =
              name(a.stage.value + step, step == 1 ? "RECV_F" : "RECV_B", a.micro_batch.value);
          if (at[peer] == lists_[peer].size() || lists_[peer][at[peer]] != receive) continue;
          done.insert(receive);
          ++at[r];
          ++at[peer];
          moved = true;
        }
      }
    }
    for (std::size_t r = 0; r < lists_.size(); ++r)
      if (at[r] != lists_[r].size()) return false;
    return true;
  }

  static bool has_grad(int stage, int k, const std::set<Name>& done) {
    return done.count(name(stage, "B", k)) > 0 || done.count(name(stage, "I", k)) > 0;
  }
  bool made(const Action& send, const std::set<Name>& done) const {
    const int s = send.stage.value;
    const int k = send.micro_batch.value;
    return send.kind == ActionKind::SendForward ? done.count(name(s, "F", k)) > 0
                                                : has_grad(s, k, done);
  }
  bool ready(const Action& a, const std::set<Name>& done) const {
    const int s = a.stage.value;
    const int k = a.micro_batch.value;
    const auto near = [&](int other) { return !lowered_ || rank_of(other) == rank_of(s); };
    switch (a.kind) {
      case ActionKind::Forward:
        if (s == 0) return true;
        return done.count(near(s - 1) ? name(s - 1, "F", k) : name(s, "RECV_F", k)) > 0;
      case ActionKind::WeightGrad:
        return done.count(name(s, "I", k)) > 0;
      default:
        if (done.count(name(s, "F", k)) == 0) return false;
        if (s + 1 == schedule_.stage_count()) return true;
        return near(s + 1) ? has_grad(s + 1, k, done) : done.count(name(s, "RECV_B", k)) > 0;
    }
  }

  const Schedule& schedule_;
  bool lowered_;
  std::vector<std::vector<Name>> lists_;
};

}  // namespace headrace::test
