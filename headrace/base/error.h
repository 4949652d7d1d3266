// SPDX-License-Identifier: Apache-2.0
//
// Three kinds of failure, and no fourth:
//
//   a finding, expected         a schedule breaks a rule, no plan fits     returned as a value
//   the caller or the world     bad argument, bad file, peer gone          thrown, under Error
//   a bug in us                 impossible state                           HEADRACE_CHECK throws
//
// A message says where, what is wrong with both values, and what to do. The library never prints.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace headrace {

// What went wrong, for programs: stable names that the message may not have. See docs/errors.md.
enum class ErrorCode {
  Usage,      // an argument, a config key or a combination of them is wrong
  Parse,      // a file or text is malformed
  Io,         // the file system refused or failed
  Transport,  // a peer is gone, late, or sent what was not expected
  Compute,    // a layer failed on a rank
  Canceled,   // another rank failed first, or the user asked to stop
  Internal,   // a bug in Headrace
};

// The lower-case name of a code, such as "usage"; the program prints it in --json errors.
[[nodiscard]] std::string_view error_code_name(ErrorCode code);

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

struct UsageError : Error {
  explicit UsageError(const std::string& message) : Error(ErrorCode::Usage, message) {}
};
struct ParseError : Error {
  explicit ParseError(const std::string& message) : Error(ErrorCode::Parse, message) {}
};
struct IoError : Error {
  explicit IoError(const std::string& message) : Error(ErrorCode::Io, message) {}
};
struct TransportError : Error {
  explicit TransportError(const std::string& message) : Error(ErrorCode::Transport, message) {}
};
struct ComputeError : Error {
  explicit ComputeError(const std::string& message) : Error(ErrorCode::Compute, message) {}
};
struct CanceledError : Error {
  explicit CanceledError(const std::string& message) : Error(ErrorCode::Canceled, message) {}
};
struct InternalError : Error {
  explicit InternalError(const std::string& message) : Error(ErrorCode::Internal, message) {}
};

// Throws InternalError that names the place and asks for a report.
[[noreturn]] void fail_check(const char* file, int line, const char* condition,
                             const std::string& words);

}  // namespace headrace

// On in every build. `words` and what follows are a format string and its values.
#define HEADRACE_CHECK(condition, ...)                                                    \
  do {                                                                                    \
    if (!(condition)) [[unlikely]]                                                        \
      ::headrace::fail_check(__FILE__, __LINE__, #condition, ::fmt::format(__VA_ARGS__)); \
  } while (false)
