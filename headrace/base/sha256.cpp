// SPDX-License-Identifier: Apache-2.0
#include "headrace/base/sha256.h"

#include "headrace/base/error.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

namespace headrace {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  const bool ready =
      state_->context != nullptr && EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1;
  HEADRACE_CHECK(ready, "OpenSSL has no SHA-256");
}

Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::span<const std::byte> bytes) {
  const bool taken = EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1;
  HEADRACE_CHECK(taken, "SHA-256 refused {} bytes", bytes.size());
}

void Sha256::update(std::string_view text) {
  update(std::as_bytes(std::span(text)));
}

std::string Sha256::hex_digest() {
  std::array<unsigned char, 32> digest{};
  const bool done = EVP_DigestFinal_ex(state_->context, digest.data(), nullptr) == 1;
  HEADRACE_CHECK(done, "SHA-256 did not finish");
  std::string hex;
  for (const unsigned char byte : digest) hex += fmt::format("{:02x}", byte);
  return hex;
}

}  // namespace headrace
