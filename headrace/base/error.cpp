// SPDX-License-Identifier: Apache-2.0
#include "headrace/base/error.h"

namespace headrace {

std::string_view error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::Usage:
      return "usage";
    case ErrorCode::Parse:
      return "parse";
    case ErrorCode::Io:
      return "io";
    case ErrorCode::Transport:
      return "transport";
    case ErrorCode::Compute:
      return "compute";
    case ErrorCode::Canceled:
      return "canceled";
    case ErrorCode::Internal:
      return "internal";
  }
  return "internal";
}

void fail_check(const char* file, int line, const char* condition, const std::string& words) {
  // The path from the repository's root is what a report needs, whatever the build folder was.
  std::string_view place(file);
  if (const auto at = place.rfind("headrace/"); at != std::string_view::npos)
    place.remove_prefix(at);
  throw InternalError(fmt::format(
      "{}:{}: {} ({} does not hold). This is a bug in Headrace; please report it with the command.",
      place, line, words, condition));
}

}  // namespace headrace
