// SPDX-License-Identifier: Apache-2.0
//
//   write NAME.tmp-PID ─► fsync it ─► rename to NAME ─► fsync the folder
//
// A crash before the rename leaves the old file; after it, the new one.
#include "headrace/checkpoint/internal/atomic_file.h"

#include "headrace/base/error.h"
#include "headrace/checkpoint/safetensors.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace headrace {
namespace internal {
namespace {

[[noreturn]] void fail(const std::string& path, std::string_view what) {
  throw IoError(fmt::format("{}: {}: {}. The old file, if there was one, is untouched.", path, what,
                            std::strerror(errno)));
}

std::string folder_of(const std::string& path) {
  const auto parent = std::filesystem::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

}  // namespace

AtomicFile::AtomicFile(std::string path)
    : path_(std::move(path)), temporary_(fmt::format("{}.tmp-{}", path_, ::getpid())) {
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail(path_, "cannot be created");
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t taken = ::write(descriptor_, bytes.data(), bytes.size());
    if (taken < 0 && errno == EINTR) continue;
    if (taken < 0) fail(path_, "cannot be written");
    bytes = bytes.subspan(static_cast<std::size_t>(taken));
  }
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) fail(path_, "cannot be synced");
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int reason = errno;
    ::unlink(temporary_.c_str());
    errno = reason;
    fail(path_, "cannot be put in place");
  }
  const int folder = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) fail(path_, "its folder cannot be opened to sync it");
  const int synced = ::fsync(folder);
  ::close(folder);
  if (synced != 0) fail(path_, "its folder cannot be synced");
}

}  // namespace internal

void write_file_atomically(const std::string& path, std::span<const std::byte> content) {
  internal::AtomicFile file(path);
  file.write(content);
  file.commit();
}

}  // namespace headrace
