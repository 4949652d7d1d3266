// SPDX-License-Identifier: Apache-2.0
#include "headrace/runtime/cpu_allocator.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

namespace headrace {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kRanks = 1024;  // and one more slot for threads of no rank
constexpr int kClasses = 8 * 48;

struct alignas(kAlignment) Header {
  std::int32_t size_class = 0;
  std::int32_t rank = 0;
  std::size_t bytes = 0;  // as asked for
};
static_assert(sizeof(Header) == kAlignment);

struct Account {
  std::atomic<std::int64_t> held{0};
  std::atomic<std::int64_t> peak{0};
};

struct Pool {
  std::mutex mutex;
  std::vector<Header*> blocks;
};

// The process has one CPU allocator, so its state is the one exception to "no global state".
struct State {
  std::array<Account, kRanks + 1> accounts;
  std::array<Pool, kClasses> pools;
  std::atomic<bool> reuse{true};
  std::atomic<bool> poison{false};
};

State& state() {
  // Never destroyed: tensors in static storage may be freed after main.
  static State* const kept = new State;
  return *kept;
}

thread_local std::size_t charged_slot = kRanks;

// Sizes of a class: (8 + c % 8) / 8 * 2^(c / 8), so a block wastes at most an eighth.
int class_of(std::size_t bytes) {
  if (bytes <= 64) return 8 * 6;
  const int octave = std::bit_width(bytes - 1) - 1;  // 2^octave < bytes <= 2^(octave + 1)
  const std::size_t eighth = std::size_t{1} << (octave - 3);
  const std::size_t steps = (bytes - (std::size_t{1} << octave) + eighth - 1) / eighth;
  return 8 * octave + static_cast<int>(steps);
}

std::size_t class_bytes(int size_class) {
  const int octave = size_class / 8;
  return (std::size_t{1} << octave) +
         (std::size_t{1} << (octave - 3)) * static_cast<std::size_t>(size_class % 8);
}

Header* take_block(int size_class) {
  Pool& pool = state().pools[static_cast<std::size_t>(size_class)];
  {
    const std::lock_guard lock(pool.mutex);
    if (!pool.blocks.empty()) {
      Header* block = pool.blocks.back();
      pool.blocks.pop_back();
      return block;
    }
  }
  const std::size_t bytes = class_bytes(size_class) + sizeof(Header);
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* raw = std::aligned_alloc(kAlignment, rounded);
  if (raw == nullptr) throw std::bad_alloc();
  return new (raw) Header;
}

// Charges the block to the calling thread's rank.
void charge(Header& block) {
  block.rank = static_cast<std::int32_t>(charged_slot);
  Account& account = state().accounts[charged_slot];
  const auto size = static_cast<std::int64_t>(block.bytes);
  const std::int64_t now = account.held.fetch_add(size, std::memory_order_relaxed) + size;
  std::int64_t peak = account.peak.load(std::memory_order_relaxed);
  while (now > peak && !account.peak.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

void discharge(const Header& block) {
  state().accounts[static_cast<std::size_t>(block.rank)].held.fetch_sub(
      static_cast<std::int64_t>(block.bytes), std::memory_order_relaxed);
}

void fill_with_nan(void* data, std::size_t bytes) {
  std::memset(data, 0xff, bytes);
}

void release(void* data) {
  if (data == nullptr) return;
  Header* block = static_cast<Header*>(data) - 1;
  discharge(*block);
  if (state().poison.load(std::memory_order_relaxed)) fill_with_nan(data, block->bytes);
  if (!state().reuse.load(std::memory_order_relaxed)) return std::free(block);
  Pool& pool = state().pools[static_cast<std::size_t>(block->size_class)];
  const std::lock_guard lock(pool.mutex);
  pool.blocks.push_back(block);
}

class CachingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes == 0) return {nullptr, nullptr, &release, c10::Device(c10::DeviceType::CPU)};
    if (bytes > (std::size_t{1} << 46)) throw std::bad_alloc();
    const int size_class = class_of(bytes);
    Header* block = take_block(size_class);
    block->size_class = size_class;
    block->bytes = bytes;
    charge(*block);
    void* data = block + 1;
    if (state().poison.load(std::memory_order_relaxed)) fill_with_nan(data, bytes);
    // Some kernels free through raw_deleter, so the context must be the data itself.
    return {data, data, &release, c10::Device(c10::DeviceType::CPU)};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &release; }

  void copy_data(void* to, const void* from, std::size_t count) const override {
    default_copy_data(to, from, count);
  }
};

Account& account_of(RankId rank) {
  return state().accounts[rank.valid() ? std::min(rank.index(), kRanks) : kRanks];
}

}  // namespace

void install_cpu_allocator(const std::optional<CpuAllocatorOptions>& options) {
  if (options) {
    state().reuse = options->reuse;
    state().poison = options->poison;
  }
  static CachingAllocator* const allocator = new CachingAllocator;
  // Above PyTorch's own priorities, so that nothing loaded later takes its place.
  c10::SetCPUAllocator(allocator, 100);
}

void charge_this_thread_to(RankId rank) {
  charged_slot = rank.valid() ? std::min(rank.index(), kRanks) : kRanks;
}

void take_charge_of(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.has_storage()) return;
  const c10::DataPtr& memory = tensor.storage().data_ptr();
  if (memory.get() == nullptr || memory.get_deleter() != &release) return;
  Header& block = *(static_cast<Header*>(memory.get()) - 1);
  if (static_cast<std::size_t>(block.rank) == charged_slot) return;
  discharge(block);
  charge(block);
}

Bytes bytes_held_by(RankId rank) {
  return Bytes(account_of(rank).held.load());
}

Bytes peak_bytes_of(RankId rank) {
  return Bytes(account_of(rank).peak.load());
}

void reset_peak_bytes(RankId rank) {
  Account& account = account_of(rank);
  account.peak.store(account.held.load());
}

Bytes trim_cpu_allocator() {
  std::int64_t freed = 0;
  for (int c = 0; c < kClasses; ++c) {
    Pool& pool = state().pools[static_cast<std::size_t>(c)];
    const std::lock_guard lock(pool.mutex);
    for (Header* block : pool.blocks) std::free(block);
    freed += static_cast<std::int64_t>(pool.blocks.size() * (c >= 24 ? class_bytes(c) : 0));
    pool.blocks.clear();
  }
  return Bytes(freed);
}

}  // namespace headrace
