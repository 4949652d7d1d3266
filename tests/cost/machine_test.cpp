// SPDX-License-Identifier: Apache-2.0
#include "headrace/cost/machine.h"

#include "headrace/base/error.h"
#include "headrace/cost/json.h"
#include "headrace/cost/machine_toml.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace headrace {
namespace {

TEST(TransferTime, IsLatencyAndBytesOverBandwidthRoundedUp) {
  EXPECT_EQ(transfer_time({Time(7), 0}, Bytes(1'000'000)), Time(7));  // infinite bandwidth
  EXPECT_EQ(transfer_time({Time(7), 1'000'000'000}, Bytes(100)), Time(107));
  EXPECT_EQ(transfer_time({Time(0), 3'000'000'000}, Bytes(1)), Time(1));  // a third of one
  EXPECT_EQ(transfer_time({Time(7), 1}, Bytes(0)), Time(7));
  EXPECT_EQ(occupied_time({Time(7), 1'000'000'000}, Bytes(100)), Time(100));
}

TEST(TransferTime, IsExactWhereTheProductPasses63Bits) {
  EXPECT_EQ(occupied_time({Time(0), 25'000'000'000}, Bytes(INT64_C(1) << 40)),
            Time(INT64_C(43'980'465'112)));  // 43.98 s; bytes times 10^9 is 1.1e21
}

TEST(Machine, GivesNamedDirectionsTheirOwnLink) {
  Machine machine = uniform_machine(3, {Time(1), 10});
  machine.links[{RankId(0), RankId(1)}] = {Time(2), 20};
  EXPECT_EQ(machine.link_between(RankId(0), RankId(1)), (Link{Time(2), 20}));
  EXPECT_EQ(machine.link_between(RankId(1), RankId(0)), (Link{Time(1), 10}));
}

// The comment on top of machine_toml.h, which docs/cost-model.md shows as well.
constexpr const char* kFile = R"(ranks = 4
memory = "80GiB"        # of each rank; no limit where it is left out
links_contend = true

[link]                  # between any two ranks, unless named below
latency = "5us"
bandwidth = 25e9        # bytes per second; infinite where it is left out

[[rank]]                # a rank that differs from the others
number = 3
speed_permille = 500

[[links]]               # one direction that differs from the others
from = 1
to = 2
latency = "30us"
bandwidth = 3e9
)";

Machine machine_of_the_file() {
  Machine machine = uniform_machine(4, {Time(5000), 25'000'000'000});
  for (RankSpec& rank : machine.ranks) rank.memory = Bytes(INT64_C(80) << 30);
  machine.ranks[3].speed_permille = 500;
  machine.links[{RankId(1), RankId(2)}] = {Time(30'000), 3'000'000'000};
  machine.links_contend = true;
  return machine;
}

TEST(ParseMachine, ReadsTheExample) {
  EXPECT_EQ(parse_machine(kFile, "machine.toml"), machine_of_the_file());
}

TEST(ParseMachine, TakesTheSmallestFile) {
  EXPECT_EQ(parse_machine("ranks = 2", "m.toml"), uniform_machine(2));
}

TEST(ParseMachine, HasItsExampleInTheHeaderAndTheDocs) {
  const auto text_of = [](const char* path) {
    std::ifstream file(std::string(HEADRACE_SOURCE_DIR) + path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_NE(text_of("/docs/cost-model.md").find(kFile), std::string::npos);
  const std::string header = text_of("/headrace/cost/machine_toml.h");
  std::istringstream lines(kFile);
  for (std::string line; std::getline(lines, line);)
    EXPECT_NE(header.find(line.empty() ? "//\n" : "//   " + line + "\n"), std::string::npos)
        << line;
}

TEST(MachineToml, ReadsBackToAnEqualMachine) {
  Machine machine = machine_of_the_file();
  machine.sends_block = true;
  EXPECT_EQ(parse_machine(to_toml(machine), "m.toml"), machine);
  EXPECT_EQ(parse_machine_json(to_json(machine), "m.json"), machine);
  machine.link.bytes_per_second = INT64_MAX;
  machine.ranks[1].memory = Bytes(INT64_MAX);
  EXPECT_EQ(parse_machine(to_toml(machine), "m.toml"), machine);
  EXPECT_EQ(parse_machine_json(to_json(machine), "m.json"), machine);
}

std::string error_of(const std::string& toml) {
  try {
    static_cast<void>(parse_machine(toml, "machine.toml"));
  } catch (const ParseError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// The example with the first `from` replaced.
std::string error_with(const std::string& from, const std::string& to) {
  std::string text = kFile;
  text.replace(text.find(from), from.size(), to);
  return error_of(text);
}

TEST(ParseMachine, NamesLineColumnValueAndWhatIsExpected) {
  EXPECT_EQ(error_with("25e9", "\"25GB\""),
            "machine.toml:7:13: link bandwidth is \"25GB\"; expected bytes per second as a number, "
            "such as 25e9");
  EXPECT_EQ(error_with("3e9", "2.5"),
            "machine.toml:17:13: link bandwidth is 2.5; expected bytes per second as a number, "
            "such as 25e9");
  EXPECT_EQ(error_with("\"5us\"", "5"),
            "machine.toml:6:11: link latency is 5; expected a time in whole nanoseconds, such as "
            "\"5us\"");
  EXPECT_EQ(error_with("80GiB", "80 gigs"),
            "machine.toml:2:10: memory is \"80 gigs\"; expected whole bytes, such as 85899345920 "
            "or \"80GiB\"");
  EXPECT_EQ(error_with("= 500", "= 0"),
            "machine.toml:11:18: rank speed_permille is 0; expected 1 or more; 1000 is the usual "
            "speed");
  EXPECT_EQ(error_with("= true", "= \"yes\""),
            "machine.toml:3:17: links_contend is \"yes\"; expected true or false");
}

TEST(ParseMachine, RefusesRanksThatAreNotThere) {
  EXPECT_EQ(error_with("ranks = 4", "ranks = 0"),
            "machine.toml:1:9: ranks is 0; expected a number from 1 to 1000000");
  EXPECT_EQ(error_with("ranks = 4", "ranks = 999999999999"),
            "machine.toml:1:9: ranks is 999999999999; expected a number from 1 to 1000000");
  EXPECT_EQ(error_with("ranks = 4", ""), "machine.toml:1:1: ranks is missing");
  EXPECT_EQ(error_with("number = 3", "number = 4"),
            "machine.toml:10:10: rank number is 4; expected a rank from 0 to 3");
  EXPECT_EQ(error_with("to = 2", "to = 1"),
            "machine.toml:15:6: link to is 1; expected another rank than \"from\"");
  EXPECT_EQ(error_with("to = 2", ""), "machine.toml:13:1: link to is missing");
}

TEST(ParseMachine, RefusesUnknownAndDoubleNames) {
  EXPECT_EQ(error_with("latency", "latancy"),
            "machine.toml:6:1: unknown link key \"latancy\"; did you mean \"latency\"?");
  EXPECT_EQ(error_with("memory", "memmory"),
            "machine.toml:2:1: unknown key \"memmory\"; did you mean \"memory\"?");
  EXPECT_EQ(error_of(std::string(kFile) + "[[links]]\nfrom = 1\nto = 2\n"),
            "machine.toml:20:6: link to is 2; expected a direction that is not named before; 1 to "
            "2 is");
  EXPECT_EQ(error_of(std::string(kFile) + "[[rank]]\nnumber = 3\n"),
            "machine.toml:19:10: rank number is 3; expected a rank that is not named before");
  EXPECT_TRUE(error_of("ranks = 2\nranks = 2\n").starts_with("machine.toml:2:"));
  EXPECT_TRUE(error_of("ranks = \n").starts_with("machine.toml:1:"));
  EXPECT_EQ(error_of("ranks = 2\nlink = 5\n"),
            "machine.toml:2:8: link is 5; expected a table that begins with [link]");
  EXPECT_EQ(error_of("ranks = 2\nlinks = [5]\n"),
            "machine.toml:2:9: links is a list; expected tables that begin with [[links]]");
}

TEST(LoadMachine, NamesTheFileThatCannotBeRead) {
  try {
    static_cast<void>(load_machine("/no/such/machine.toml"));
    FAIL() << "nothing was thrown";
  } catch (const IoError& error) {
    EXPECT_STREQ(error.what(), "/no/such/machine.toml: cannot be read: No such file or directory");
  }
  // A folder opens like a file, and only fails when it is read.
  EXPECT_THROW(static_cast<void>(load_machine(std::filesystem::temp_directory_path())), IoError);
}

}  // namespace
}  // namespace headrace
