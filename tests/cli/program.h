// SPDX-License-Identifier: Apache-2.0
//
// Runs the real program and keeps what it said.
#pragma once

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace headrace::test {

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
  double seconds = 0;
};

// A folder that is empty at the start and gone at the end.
class Scratch {
 public:
  Scratch()
      : path_(std::filesystem::temp_directory_path() /
              ("headrace-cli-" + std::to_string(::getpid()) + "-" + std::to_string(next_++))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return file(name);
  }
  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] bool empty() const { return std::filesystem::is_empty(path_); }

 private:
  static inline int next_ = 0;
  std::filesystem::path path_;
};

inline std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// `arguments` are as in a shell; runs in `scratch`, without a terminal.
inline Outcome run(const Scratch& scratch, const std::string& arguments,
                   const std::string& environment = "") {
  const Scratch logs;
  const std::string command = "cd '" + scratch.path() + "' && " + environment + " '" +
                              HEADRACE_PROGRAM "' " + arguments + " >'" + logs.file("out") +
                              "' 2>'" + logs.file("err") + "' </dev/null";
  const auto start = std::chrono::steady_clock::now();
  const int status = std::system(command.c_str());
  Outcome outcome;
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.out = contents_of(logs.file("out"));
  outcome.err = contents_of(logs.file("err"));
  return outcome;
}

}  // namespace headrace::test
