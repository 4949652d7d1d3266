// SPDX-License-Identifier: Apache-2.0
#include "headrace/runtime/cpu_allocator.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <thread>

namespace headrace {
namespace {

class CpuAllocator : public ::testing::Test {
 protected:
  void SetUp() override {
    install_cpu_allocator(CpuAllocatorOptions{});
    charge_this_thread_to(RankId(900));
    reset_peak_bytes(RankId(900));
  }
  void TearDown() override {
    install_cpu_allocator(CpuAllocatorOptions{});
    charge_this_thread_to(RankId());
  }
};

TEST_F(CpuAllocator, CountsTheBytesOfTheRankExactly) {
  ASSERT_EQ(bytes_held_by(RankId(900)), Bytes(0));
  {
    const at::Tensor a = at::empty({100}, at::kFloat);
    const at::Tensor b = at::empty({3}, at::kDouble);
    EXPECT_EQ(bytes_held_by(RankId(900)), Bytes(424));
  }
  EXPECT_EQ(bytes_held_by(RankId(900)), Bytes(0));
  EXPECT_EQ(peak_bytes_of(RankId(900)), Bytes(424));
}

TEST_F(CpuAllocator, ChargesTheMakerWhoeverFrees) {
  at::Tensor made = at::empty({1000}, at::kFloat);
  std::thread([moved = std::move(made)]() mutable {
    charge_this_thread_to(RankId(901));
    moved.reset();
  }).join();
  EXPECT_EQ(bytes_held_by(RankId(900)), Bytes(0));
  EXPECT_EQ(bytes_held_by(RankId(901)), Bytes(0));
}

TEST_F(CpuAllocator, ReusesABlockOfTheSameSize) {
  void* first = nullptr;
  {
    const at::Tensor a = at::empty({123457}, at::kFloat);
    first = a.data_ptr();
  }
  const at::Tensor b = at::empty({123456}, at::kFloat);
  EXPECT_EQ(b.data_ptr(), first);
}

TEST_F(CpuAllocator, AlignsEveryTensorTo64Bytes) {
  for (const std::int64_t size : {1, 7, 63, 64, 65, 1000, 100003})
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at::empty({size}, at::kByte).data_ptr()) % 64, 0u);
}

TEST_F(CpuAllocator, PoisonShowsMemoryThatWasNeverWritten) {
  install_cpu_allocator(CpuAllocatorOptions{true, true});
  EXPECT_TRUE(at::empty({64}, at::kFloat).isnan().all().item<bool>());
  // Whoever installs it again without options, such as a training run, leaves them.
  install_cpu_allocator();
  EXPECT_TRUE(at::empty({64}, at::kFloat).isnan().all().item<bool>());
}

TEST_F(CpuAllocator, WithoutReuseEveryBlockGoesBackAtOnce) {
  static_cast<void>(trim_cpu_allocator());
  install_cpu_allocator(CpuAllocatorOptions{false, false});
  { const at::Tensor a = at::empty({1 << 20}, at::kByte); }
  EXPECT_EQ(trim_cpu_allocator(), Bytes(0));
  EXPECT_EQ(bytes_held_by(RankId(900)), Bytes(0));
}

TEST_F(CpuAllocator, AReceiverTakesChargeOfWhatItWasHanded) {
  at::Tensor made = at::empty({1000}, at::kFloat);
  std::thread([moved = std::move(made)]() mutable {
    charge_this_thread_to(RankId(901));
    reset_peak_bytes(RankId(901));
    take_charge_of(moved);
    EXPECT_EQ(bytes_held_by(RankId(900)), Bytes(0));
    EXPECT_EQ(bytes_held_by(RankId(901)), Bytes(4000));
    take_charge_of(moved);  // twice is once
    EXPECT_EQ(bytes_held_by(RankId(901)), Bytes(4000));
    EXPECT_EQ(peak_bytes_of(RankId(901)), Bytes(4000));
  }).join();
  EXPECT_EQ(bytes_held_by(RankId(901)), Bytes(0));
}

TEST_F(CpuAllocator, LeavesForeignMemoryAlone) {
  float outside[4] = {};
  take_charge_of(at::from_blob(outside, {4}));
  take_charge_of(at::Tensor());
  take_charge_of(at::empty({0}, at::kFloat));
  EXPECT_EQ(bytes_held_by(RankId(900)), Bytes(0));
}

TEST_F(CpuAllocator, TrimGivesUnusedBlocksBack) {
  static_cast<void>(trim_cpu_allocator());
  { const at::Tensor a = at::empty({1 << 20}, at::kByte); }
  EXPECT_GE(trim_cpu_allocator(), Bytes(1 << 20));
  EXPECT_EQ(trim_cpu_allocator(), Bytes(0));
}

TEST_F(CpuAllocator, FreesThroughTheRawDeleterAsKernelsDo) {
  // GELU's kernel once freed its workspace that way and died on a foreign context.
  const at::Tensor x = at::ones({64, 64});
  EXPECT_TRUE(at::gelu(x, "tanh").defined());
}

}  // namespace
}  // namespace headrace
