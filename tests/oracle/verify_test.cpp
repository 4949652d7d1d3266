// SPDX-License-Identifier: Apache-2.0
#include "headrace/schedule/verify.h"

#include "headrace/schedule/basic.h"
#include "headrace/schedule/lower.h"
#include "headrace/schedule/text_form.h"
#include "tests/oracle/brute_checker.h"
#include "tests/oracle/random_schedule.h"

#include <gtest/gtest.h>

#include <random>

namespace headrace {
namespace {

using Random = std::mt19937;

std::size_t below(Random& random, std::size_t bound) {
  return random() % bound;
}

// Two stages per rank and the backward split.
Schedule by_hand() {
  return parse_schedule(R"(headrace-schedule 1
name by-hand
micro-batches 2
place 0 1 0 1
rank 0: 0F0 0F1 2F0 2F1 2I0 2W0 2I1 0I0 2W1 0W0 0I1 0W1
rank 1: 1F0 1F1 3F0 3I0 3F1 3I1 3W0 1I0 3W1 1I1 1W0 1W1
)",
                        "by-hand");
}

std::vector<Schedule> valid_schedules(Random& random) {
  std::vector<Schedule> all{by_hand()};
  for (int i = 0; i < 20; ++i) all.push_back(test::random_walk_schedule(random));
  for (const int p : {1, 2, 3, 5})
    for (const int m : {1, 2, 4}) {
      all.push_back(naive(p, m));
      all.push_back(gpipe(p, m, m % 2 == 0));
      all.push_back(one_f_one_b(p, m));
    }
  const std::size_t plain = all.size();
  for (std::size_t i = 0; i < plain; ++i) all.push_back(lower(all[i]));
  return all;
}

// Deletes, duplicates, swaps or moves one action.
void mutate(Schedule& schedule, Random& random) {
  auto& list = schedule.ranks[below(random, schedule.ranks.size())];
  auto& other = schedule.ranks[below(random, schedule.ranks.size())];
  const auto at = static_cast<std::ptrdiff_t>(below(random, list.size()));
  const Action action = list[static_cast<std::size_t>(at)];
  switch (below(random, 4)) {
    case 0:
      list.erase(list.begin() + at);
      break;
    case 1:
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(below(random, list.size())), action);
      break;
    case 2:
      std::swap(list[static_cast<std::size_t>(at)], list[below(random, list.size())]);
      break;
    default:
      list.erase(list.begin() + at);
      other.insert(other.begin() + static_cast<std::ptrdiff_t>(below(random, other.size() + 1)),
                   action);
  }
}

TEST(Verify, AgreesWithTheBruteCheckerOnTwoThousandMutants) {
  constexpr unsigned kSeed = 20261201;
  std::printf("seed %u\n", kSeed);
  Random random(kSeed);
  const auto originals = valid_schedules(random);
  for (const Schedule& schedule : originals) {
    EXPECT_TRUE(verify(schedule).empty()) << to_text(schedule);
    EXPECT_TRUE(test::BruteChecker(schedule).valid()) << to_text(schedule);
  }
  int broken = 0;
  for (int i = 0; i < 2000; ++i) {
    Schedule mutant = originals[below(random, originals.size())];
    mutate(mutant, random);
    const bool valid = test::BruteChecker(mutant).valid();
    const auto violations = verify(mutant);
    ASSERT_EQ(violations.empty(), valid)
        << to_text(mutant) << (violations.empty() ? "" : violations.front().message);
    broken += valid ? 0 : 1;
  }
  std::printf("%d of 2000 mutants were broken\n", broken);
  EXPECT_GT(broken, 1000);
  EXPECT_LT(broken, 2000);
}

}  // namespace
}  // namespace headrace
