// SPDX-License-Identifier: Apache-2.0
//
// SHA-256, for digests of results and checksums of files. The algorithm is OpenSSL's.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace headrace {

// Takes bytes in pieces; hex_digest() ends it and gives 64 lower-case hexadecimal digits.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void update(std::span<const std::byte> bytes);
  void update(std::string_view text);
  [[nodiscard]] std::string hex_digest();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headrace
