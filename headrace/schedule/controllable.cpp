// SPDX-License-Identifier: Apache-2.0
//
// A block is the F and I of one micro-batch on both stages of a rank, in slots of unit time; the
// next micro-batch follows 6 slots later, and no two actions of a rank collide. V-Min, p = 2, first
// blocks (lower case: the second stage of the rank; W's fill the free slots):
//
//   slot     0  1  2  3  4  5  6  7  8  9
//   rank 0   F0 .  .  f0 i0 .  F1 I0 .  f1
//   rank 1   .  F0 f0 .  .  i0 I0 F1 f1 .
//
// Then two passes over all actions by slot move those of the fill and of the drain into earlier
// free slots, as long as the rank's peak stays what it is; the steady part in between is left
// alone.
#include "headrace/schedule/controllable.h"

#include "headrace/schedule/internal/building.h"
#include "headrace/schedule/verify.h"

#include <algorithm>
#include <array>
#include <functional>
#include <tuple>
#include <vector>

namespace headrace {
namespace {

// The rows of a rank, in the order of one micro-batch's life.
enum Row { kForwardLow, kForwardHigh, kInputHigh, kInputLow, kWeight, kRows };

// Slots of one block on one rank.
using Block = std::array<int, 4>;

// slots[row][k]: the slot of micro-batch k; weights are numbered in the order of their I's.
struct RankSlots {
  std::array<std::vector<int>, kRows> slots;

  [[nodiscard]] std::vector<int> inputs() const {
    std::vector<int> all = slots[kInputHigh];
    all.insert(all.end(), slots[kInputLow].begin(), slots[kInputLow].end());
    std::sort(all.begin(), all.end());
    return all;
  }
  [[nodiscard]] std::vector<int> taken() const {
    std::vector<int> all;
    for (int row = kForwardLow; row <= kInputLow; ++row)
      all.insert(all.end(), slots[row].begin(), slots[row].end());
    std::sort(all.begin(), all.end());
    return all;
  }

  // Every free slot, from the first on, takes the oldest weight gradient whose I is over.
  void fill_weights() {
    slots[kWeight].clear();
    const auto ready = inputs();
    const auto used = taken();
    std::size_t next_used = 0;
    for (int slot = 0; slots[kWeight].size() < ready.size(); ++slot) {
      while (next_used < used.size() && used[next_used] < slot) ++next_used;
      if (next_used < used.size() && used[next_used] == slot) continue;
      if (ready[slots[kWeight].size()] < slot) slots[kWeight].push_back(slot);
    }
  }

  [[nodiscard]] int peak() const {
    std::vector<std::pair<int, int>> changes;
    for (const int row : {kForwardLow, kForwardHigh})
      for (const int slot : slots[row]) changes.emplace_back(slot, 1);
    for (const int slot : slots[kWeight]) changes.emplace_back(slot, -1);
    std::sort(changes.begin(), changes.end());
    int live = 0;
    int most = 0;
    for (const auto& [slot, change] : changes) {
      live += change;
      most = std::max(most, live);
    }
    return most;
  }
};

class Builder {
 public:
  Builder(int p, int m, const std::function<Block(int)>& block) : p_(p), m_(m) {
    for (int d = 0; d < p; ++d) {
      RankSlots& rank = ranks_.emplace_back();
      const Block first = block(d);
      for (int row = kForwardLow; row <= kInputLow; ++row)
        for (int k = 0; k < m; ++k)
          rank.slots[row].push_back(first[static_cast<std::size_t>(row)] + 6 * k);
      rank.fill_weights();
    }
  }

  void reorder() {
    move_forward(true);
    squeeze();
    for (RankSlots& rank : ranks_) rank.slots[kWeight].clear();
    move_forward(false);
    for (RankSlots& rank : ranks_) rank.fill_weights();
    squeeze();
    for (RankSlots& rank : ranks_) rank.fill_weights();
  }

  [[nodiscard]] Schedule schedule(const char* method) const {
    Schedule schedule = internal::empty_schedule(method, p_, m_, wave_placement(p_, 2));
    for (int d = 0; d < p_; ++d) {
      const auto order = order_of(d);
      std::vector<Action> inputs;
      std::size_t weights = 0;
      for (const auto& [slot, row, k] : order) {
        const bool high = row == kForwardHigh || row == kInputHigh;
        const StageId stage(high ? 2 * p_ - 1 - d : d);
        Action action{ActionKind::Forward, false, 0, stage, MicroBatchId(k)};
        if (row == kWeight) {
          action = inputs[weights++];
          action.kind = ActionKind::WeightGrad;
        } else if (row == kInputHigh || row == kInputLow) {
          action.kind = ActionKind::InputGrad;
          inputs.push_back(action);
        }
        schedule.ranks[static_cast<std::size_t>(d)].push_back(action);
      }
    }
    require_verified(schedule, method);
    return schedule;
  }

 private:
  struct Entry {
    int slot;
    int rank;
    int row;
    int k;
    auto operator<=>(const Entry&) const = default;
  };

  RankSlots& at(int d) { return ranks_[static_cast<std::size_t>(d)]; }
  int& slot_of(int d, int row, int k) {
    return at(d).slots[static_cast<std::size_t>(row)][static_cast<std::size_t>(k)];
  }

  // (slot, row, number) of all actions of a rank, by slot.
  [[nodiscard]] std::vector<std::tuple<int, int, int>> order_of(int d) const {
    std::vector<std::tuple<int, int, int>> order;
    const RankSlots& rank = ranks_[static_cast<std::size_t>(d)];
    for (int row = 0; row < kRows; ++row)
      for (std::size_t k = 0; k < rank.slots[static_cast<std::size_t>(row)].size(); ++k)
        order.emplace_back(rank.slots[static_cast<std::size_t>(row)][k], row, static_cast<int>(k));
    std::sort(order.begin(), order.end());
    return order;
  }

  // The rank whose action of the same row and micro-batch comes right before, or -1.
  [[nodiscard]] int neighbour(int d, int row) const {
    if (row == kForwardLow || row == kInputHigh) return d - 1;
    return d + 1 < p_ ? d + 1 : -1;
  }

  // The last slot that an action must come after.
  int lowest(const Entry& e) {
    if (e.row == kWeight) return at(e.rank).inputs()[static_cast<std::size_t>(e.k)];
    int low = -1;
    if (const int other = neighbour(e.rank, e.row); other >= 0)
      low = std::max(low, slot_of(other, e.row, e.k));
    if (e.row > kForwardLow) low = std::max(low, slot_of(e.rank, e.row - 1, e.k));
    if (e.k > 0) low = std::max(low, slot_of(e.rank, e.row, e.k - 1));
    return low;
  }

  void move_forward(bool first_pass) {
    int cap = 0;
    for (RankSlots rank : ranks_) {
      if (!first_pass) rank.fill_weights();
      cap = std::max(cap, rank.peak());
    }
    std::vector<Entry> entries;
    for (int d = 0; d < p_; ++d)
      for (const auto& [slot, row, k] : order_of(d)) entries.push_back({slot, d, row, k});
    std::sort(entries.begin(), entries.end());
    std::vector<std::vector<int>> used(ranks_.size());
    int phase = 0;
    for (const Entry& e : entries) {
      if (phase == 0 && e.rank == 0 && e.row == kInputLow) phase = 1;
      const bool frozen = phase == 1 || (!first_pass && phase == 0);
      if (!frozen) try_earlier(e, first_pass, cap, used[static_cast<std::size_t>(e.rank)]);
      if (phase == 1 && e.row == kForwardLow && e.k == m_ - 1) phase = 2;
      used[static_cast<std::size_t>(e.rank)].push_back(slot_of(e.rank, e.row, e.k));
    }
  }

  void try_earlier(const Entry& e, bool first_pass, int cap, const std::vector<int>& used) {
    int& slot = slot_of(e.rank, e.row, e.k);
    for (int earlier = lowest(e) + 1; earlier < e.slot; ++earlier) {
      if (std::find(used.begin(), used.end(), earlier) != used.end()) continue;
      slot = earlier;
      RankSlots rank = at(e.rank);
      if (!first_pass) rank.fill_weights();
      if (rank.peak() <= cap) return;
    }
    slot = e.slot;
  }

  // Keeps every rank's order and lets each action start as early as it can, in unit time.
  void squeeze() {
    std::vector<std::vector<std::tuple<int, int, int>>> orders;
    for (int d = 0; d < p_; ++d) orders.push_back(order_of(d));
    std::vector<std::size_t> next(ranks_.size(), 0);
    std::vector<int> free(ranks_.size(), 0);
    std::vector<RankSlots> done(ranks_.size());
    for (std::size_t d = 0; d < ranks_.size(); ++d)
      for (std::size_t row = 0; row < kRows; ++row)
        done[d].slots[row].assign(ranks_[d].slots[row].size(), -1);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t d = 0; d < ranks_.size(); ++d)
        while (next[d] < orders[d].size()) {
          const auto& [slot, row, k] = orders[d][next[d]];
          const int ready = ready_at(done, static_cast<int>(d), row, k, orders[d], next[d]);
          if (ready < 0) break;
          const int start = std::max(free[d], ready);
          done[d].slots[static_cast<std::size_t>(row)][static_cast<std::size_t>(k)] = start;
          free[d] = start + 1;
          ++next[d];
          moved = true;
        }
    }
    ranks_ = std::move(done);
  }

  // First slot in which all that the action needs is over; -1 if something has no slot yet.
  int ready_at(const std::vector<RankSlots>& done, int d, int row, int k,
               const std::vector<std::tuple<int, int, int>>& order, std::size_t position) const {
    const auto slot = [&](int rank, int r, int number) {
      return done[static_cast<std::size_t>(rank)]
          .slots[static_cast<std::size_t>(r)][static_cast<std::size_t>(number)];
    };
    int ready = 0;
    const auto after = [&](int when) {
      ready = when < 0 || ready < 0 ? -1 : std::max(ready, when + 1);
    };
    if (row == kWeight) {
      // The k-th weight gradient belongs to the k-th I of the list, which stands before it.
      int inputs = 0;
      for (std::size_t i = 0; i < position; ++i) {
        const auto& [own, other, number] = order[i];
        if ((other == kInputHigh || other == kInputLow) && inputs++ == k)
          after(slot(d, other, number));
      }
      return ready;
    }
    if (const int other = neighbour(d, row); other >= 0) after(slot(other, row, k));
    if (row > kForwardLow) after(slot(d, row - 1, k));
    return ready;
  }

  int p_;
  int m_;
  std::vector<RankSlots> ranks_;
};

Builder min_builder(int p, int m) {
  internal::require_at_least("v-min", "ranks", p, 2);
  internal::require_at_least("v-min", "micro-batches", m, 1);
  const int gap = p % 3 == 0 ? 2 : 0;
  return Builder(p, m, [=](int d) {
    return Block{d, 2 * p - 1 - d, 2 * p + gap + d, 4 * p - 1 + gap - d};
  });
}

Builder half_builder(int p, int m) {
  internal::require_at_least("v-half", "ranks", p, 2);
  internal::require_at_least("v-half", "micro-batches", m, 1);
  const int gap = p % 2 == 0 ? 3 : 0;
  return Builder(p, m, [=](int d) {
    return Block{2 * d, 3 * p - 2 - d, 3 * p - 1 + gap + 2 * d, 6 * p - 2 + gap - d};
  });
}

}  // namespace

Schedule v_min(int ranks, int micro_batches) {
  Builder builder = min_builder(ranks, micro_batches);
  builder.reorder();
  return builder.schedule("v-min");
}

Schedule v_half(int ranks, int micro_batches) {
  Builder builder = half_builder(ranks, micro_batches);
  builder.reorder();
  return builder.schedule("v-half");
}

Schedule v_min_raw(int ranks, int micro_batches) {
  return min_builder(ranks, micro_batches).schedule("v-min");
}

Schedule v_half_raw(int ranks, int micro_batches) {
  return half_builder(ranks, micro_batches).schedule("v-half");
}

}  // namespace headrace
