// SPDX-License-Identifier: Apache-2.0
//
// The pages and the code must not drift apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const std::string kRoot = HEADRACE_SOURCE_DIR;

std::string contents_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// What `command` prints on both streams, and its exit code at the end. Tests run side by side, each
// in a process of its own.
std::string output_of(const std::string& command) {
  const std::string log =
      (fs::temp_directory_path() / ("headrace-meta-" + std::to_string(::getpid()))).string();
  const int status = std::system((command + " >'" + log + "' 2>&1").c_str());
  const std::string text = contents_of(log) + "exit " + std::to_string(status);
  fs::remove(log);
  return text;
}

TEST(Readme, CommandsShownInConsoleBlocksRun) {
  std::istringstream page(contents_of(kRoot + "/README.md"));
  std::string line;
  int run = 0;
  while (std::getline(page, line)) {
    if (!line.starts_with("$ build/headrace")) continue;
    std::string command = line.substr(2);
    const std::string program = "build/headrace";
    for (std::size_t at = 0; (at = command.find(program, at)) != std::string::npos;) {
      command.replace(at, program.size(), std::string("'") + HEADRACE_PROGRAM + "'");
      at += std::string(HEADRACE_PROGRAM).size();
    }
    const std::string output = output_of("cd '" + kRoot + "' && " + command);
    if (output.find("this build has no LibTorch") != std::string::npos) continue;
    EXPECT_TRUE(output.ends_with("exit 0")) << line << "\n" << output;
    ++run;
  }
  EXPECT_GE(run, 4);
}

TEST(Ladder, HoldsForTheSources) {
  EXPECT_THAT(output_of("'" + kRoot + "/tools/check_ladder'"), HasSubstr("ladder: ok"));
}

TEST(Ladder, IsDrawnInTheDesignPage) {
  const std::string drawn = output_of("'" + kRoot + "/tools/check_ladder' --picture");
  EXPECT_THAT(contents_of(kRoot + "/DESIGN.md"), HasSubstr(drawn.substr(0, drawn.rfind("exit"))));
}

// A checker that cannot fail checks nothing.
TEST(Ladder, CheckerFindsEachKindOfViolation) {
  const fs::path tree = fs::temp_directory_path() / "headrace-ladder-sample";
  fs::remove_all(tree);
  fs::create_directories(tree / "cmake");
  fs::create_directories(tree / "headrace/base/internal");
  fs::create_directories(tree / "headrace/schedule");
  std::ofstream(tree / "cmake/ladder.txt") << "base:\nschedule: base\n";
  std::ofstream(tree / "headrace/base/up.h") << "#include \"headrace/schedule/a.h\"\n";
  std::ofstream(tree / "headrace/schedule/a.h")
      << "#include \"headrace/base/internal/x.h\"\n#include <ATen/ATen.h>\n";
  const std::string output =
      output_of("'" + kRoot + "/tools/check_ladder' '" + tree.string() + "'");
  EXPECT_THAT(
      output,
      HasSubstr("up.h:1: base may not include headrace/schedule/a.h; it may include nothing"));
  EXPECT_THAT(output, HasSubstr("a.h:1: headrace/base/internal/x.h is internal to base"));
  EXPECT_THAT(output, HasSubstr("a.h:2: schedule may not include LibTorch (ATen/ATen.h)"));
  EXPECT_FALSE(output.ends_with("exit 0"));
  fs::remove_all(tree);
}

}  // namespace
