// SPDX-License-Identifier: Apache-2.0
//
// Laws of both text forms and of lowering, on orders that no method would make.
#include "headrace/base/error.h"
#include "headrace/schedule/csv.h"
#include "headrace/schedule/lower.h"
#include "headrace/schedule/text_form.h"
#include "headrace/schedule/verify.h"
#include "tests/oracle/random_schedule.h"

#include <gtest/gtest.h>

#include <random>

namespace headrace {
namespace {

TEST(Forms, BothAreLosslessOnAThousandRandomSchedules) {
  constexpr unsigned kSeed = 20;
  std::printf("seed %u\n", kSeed);
  std::mt19937 random(kSeed);
  for (int i = 0; i < 1000; ++i) {
    const Schedule plain = test::random_walk_schedule(random);
    for (const Schedule& schedule : {plain, lower(plain)}) {
      const std::string text = to_text(schedule);
      ASSERT_EQ(parse_schedule(text, "again"), schedule) << text;
      Schedule read = parse_schedule(to_csv(schedule), "csv");
      read.name = schedule.name;  // the one thing that the CSV does not hold
      ASSERT_EQ(read, schedule) << text;
    }
  }
}

// Whatever one byte of damage does to a file, it is read, or refused with a place in it.
TEST(Forms, SurviveDamageOfOneByteOnTenThousandFiles) {
  constexpr unsigned kSeed = 21;
  std::printf("seed %u\n", kSeed);
  std::mt19937 random(kSeed);
  int refused = 0;
  for (int i = 0; i < 10'000; ++i) {
    const Schedule schedule = test::random_walk_schedule(random);
    std::string text = i % 2 == 0 ? to_text(schedule) : to_csv(lower(schedule));
    const std::string alphabet{"0189FBIW_;().,: \t\n\r\0-\xff#", 23};
    text[random() % text.size()] = alphabet[random() % alphabet.size()];
    try {
      const auto violations = verify(parse_schedule(text, "damaged"));
      for (const Violation& v : violations) ASSERT_FALSE(v.message.empty()) << text;
    } catch (const ParseError& error) {
      ASSERT_EQ(std::string(error.what()).rfind("damaged:", 0), 0u) << error.what();
      ++refused;
    }
  }
  std::printf("%d of 10000 damaged files were refused\n", refused);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace headrace
