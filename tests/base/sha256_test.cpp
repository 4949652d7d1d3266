// SPDX-License-Identifier: Apache-2.0
#include "headrace/base/sha256.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

namespace headrace {
namespace {

std::string digest(std::string_view text) {
  Sha256 sha;
  sha.update(text);
  return sha.hex_digest();
}

// The examples of FIPS 180-2, appendix B, and of the empty message.
TEST(Sha256, EqualsTheKnownAnswers) {
  EXPECT_EQ(digest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(digest(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnHowTheBytesAreCut) {
  const std::string text(1000, 'x');
  for (const std::size_t piece : {1u, 7u, 64u, 999u}) {
    Sha256 sha;
    for (std::size_t at = 0; at < text.size(); at += piece)
      sha.update(std::string_view(text).substr(at, std::min(piece, text.size() - at)));
    sha.update(std::string_view());
    EXPECT_EQ(sha.hex_digest(), digest(text)) << "pieces of " << piece;
  }
}

TEST(Sha256, MovesWithItsState) {
  Sha256 first;
  first.update("a");
  Sha256 second = std::move(first);
  second.update("bc");
  EXPECT_EQ(second.hex_digest(), digest("abc"));
}

}  // namespace
}  // namespace headrace
