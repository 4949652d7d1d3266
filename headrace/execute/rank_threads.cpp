// SPDX-License-Identifier: Apache-2.0
#include "headrace/execute/rank_threads.h"

#include "headrace/base/error.h"

#include <fmt/format.h>

#include <exception>
#include <mutex>
#include <pthread.h>
#include <system_error>
#include <thread>
#include <vector>

namespace headrace {
namespace {

// The first thing thrown, and the first that is a cause and not a consequence.
class Failure {
 public:
  explicit Failure(const std::function<void(const std::string&)>& on_failure)
      : on_failure_(on_failure) {}

  // To be called where an exception is handled.
  void add_current() {
    bool canceled = false;
    std::string what = "threw something that is not a std::exception";
    try {
      throw;
    } catch (const CanceledError& error) {
      canceled = true;
      what = error.what();
    } catch (const std::exception& error) {
      what = error.what();
    } catch (...) {
    }
    if (!keep(canceled)) return;
    if (on_failure_) on_failure_(what);
  }

  void rethrow() const {
    if (cause_) std::rethrow_exception(cause_);
    if (first_) std::rethrow_exception(first_);
  }

 private:
  // True for the first of all.
  bool keep(bool canceled) {
    const std::lock_guard lock(mutex_);
    const bool is_first = !first_;
    if (is_first) first_ = std::current_exception();
    if (!canceled && !cause_) cause_ = std::current_exception();
    return is_first;
  }

  const std::function<void(const std::string&)>& on_failure_;
  std::mutex mutex_;
  std::exception_ptr first_;
  std::exception_ptr cause_;
};

void run_one(RankId rank, const std::function<void(RankId)>& body, Failure& failure) {
  pthread_setname_np(pthread_self(), fmt::format("rank {}", rank.value).c_str());
  try {
    body(rank);
  } catch (...) {
    failure.add_current();
  }
}

}  // namespace

void run_ranks(int ranks, const std::function<void(RankId)>& body,
               const std::function<void(const std::string&)>& on_failure) {
  if (ranks < 1) throw UsageError(fmt::format("there are {} ranks; give 1 or more.", ranks));
  Failure failure(on_failure);
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(ranks));
  try {
    for (int r = 0; r < ranks; ++r)
      threads.emplace_back([&, r] { run_one(RankId(r), body, failure); });
  } catch (const std::system_error&) {
    // The machine gives no more threads; those that run wait for ranks that will never come.
    failure.add_current();
  }
  for (std::thread& thread : threads) thread.join();
  failure.rethrow();
}

}  // namespace headrace
