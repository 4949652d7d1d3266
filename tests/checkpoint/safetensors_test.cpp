// SPDX-License-Identifier: Apache-2.0
#include "headrace/checkpoint/safetensors.h"

#include "headrace/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace headrace {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Safetensors : public ::testing::Test {
 protected:
  Safetensors()
      : folder_(fs::temp_directory_path() / ("headrace-st-" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    path_ = (folder_ / "x.safetensors").string();
  }
  ~Safetensors() override { fs::remove_all(folder_); }

  // A file with this header (its length in front) and data.
  void write_raw(const std::string& header, const std::string& data) {
    std::ofstream file(path_, std::ios::binary);
    std::uint64_t length = header.size();
    file.write(reinterpret_cast<const char*>(&length), 8);
    file << header << data;
  }
  std::string read_error() {
    try {
      static_cast<void>(read_safetensors(path_));
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  }
  std::string error_of_header(const std::string& header, const std::string& data = "") {
    write_raw(header, data);
    return read_error();
  }

  fs::path folder_;
  std::string path_;
};

NamedArray array_of(const std::string& name, const std::string& dtype,
                    std::vector<std::int64_t> shape, std::string_view bytes) {
  return {name, dtype, std::move(shape), std::as_bytes(std::span(bytes))};
}

TEST_F(Safetensors, ReadsBackWhatItWrote) {
  write_safetensors(
      path_, {array_of("b", "U8", {3}, "xyz"), array_of("a", "F32", {2, 1}, "12345678"),
              array_of("empty", "F32", {0, 4}, ""), array_of("scalar", "I64", {}, "abcdefgh")});
  const auto arrays = read_safetensors(path_);
  ASSERT_EQ(arrays.size(), 4u);
  // Wide types first, so that each is aligned.
  EXPECT_EQ(arrays[0].name, "scalar");
  std::map<std::string, std::string> found;
  for (const LoadedArray& array : arrays)
    found[array.name] =
        std::string(reinterpret_cast<const char*>(array.data.data()), array.data.size());
  EXPECT_EQ(found["a"], "12345678");
  EXPECT_EQ(found["b"], "xyz");
  EXPECT_EQ(found["scalar"], "abcdefgh");
}

TEST_F(Safetensors, LaysTheFileOutAsTheFormatSays) {
  write_safetensors(path_, {array_of("w", "F32", {1}, "abcd")});
  std::ifstream file(path_, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0u);
  EXPECT_EQ(bytes.size(), 8 + length + 4);
  EXPECT_THAT(
      bytes,
      HasSubstr(
          R"({"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})"));
}

TEST_F(Safetensors, RefusesEachMalformedFileForItsOwnReason) {
  const std::string w = R"("w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  EXPECT_THAT(error_of_header("[]"), HasSubstr("does not begin with '{'"));
  EXPECT_THAT(error_of_header("{"), HasSubstr("is not JSON"));
  EXPECT_THAT(error_of_header("{" + w + "," + w + "}", "abcd"), HasSubstr("names \"w\" twice"));
  EXPECT_THAT(error_of_header(R"({"w":{"dtype":"F32","shape":[1]}})"), HasSubstr("exactly dtype"));
  EXPECT_THAT(error_of_header(R"({"w":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}})"),
              HasSubstr("unknown dtype"));
  EXPECT_THAT(error_of_header(R"({"w":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})"),
              HasSubstr("0 or more"));
  EXPECT_THAT(error_of_header(R"({"w":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})"),
              HasSubstr("whole number"));
  EXPECT_THAT(error_of_header(
                  R"({"w":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})"),
              HasSubstr("63 bits"));
  EXPECT_THAT(
      error_of_header(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})", "abcdefgh"),
      HasSubstr("takes 4 bytes"));
  EXPECT_THAT(error_of_header(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", "abcd"),
              HasSubstr("takes 4 bytes"));
  EXPECT_THAT(
      error_of_header(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", "abcdefgh"),
      HasSubstr("ends at 0"));
  EXPECT_THAT(error_of_header("{" + w + "}", "abc"), HasSubstr("cut short"));
  EXPECT_THAT(error_of_header("{" + w + "}", "abcde"), HasSubstr("too long"));
  EXPECT_THAT(error_of_header("{\"__metadata__\":{\"a\":1}," + w + "}", "abcd"),
              HasSubstr("is no string"));
  EXPECT_THAT(error_of_header("{\"x\":" + std::string(100000, '[')), HasSubstr("8 deep"));
}

TEST_F(Safetensors, RefusesLengthsThatCannotBe) {
  std::ofstream(path_, std::ios::binary) << "short";
  EXPECT_THAT(read_error(), HasSubstr("too few"));
  std::ofstream(path_, std::ios::binary) << std::string(8, '\xff') << "{}";
  EXPECT_THAT(read_error(), HasSubstr("at most 100000000"));
  write_raw("{}      ", "");
  fs::resize_file(path_, 12);
  EXPECT_THAT(read_error(), HasSubstr("only 4 follow"));
  fs::remove(path_);
  EXPECT_THAT(read_error(), HasSubstr("cannot be read"));
}

TEST_F(Safetensors, RefusesToWriteWhatItCouldNotRead) {
  EXPECT_THROW(write_safetensors(path_, {array_of("a", "F32", {1}, "abc")}), UsageError);
  EXPECT_THROW(write_safetensors(path_, {array_of("a", "X", {1}, "abc")}), UsageError);
  EXPECT_THROW(
      write_safetensors(path_, {array_of("a", "U8", {1}, "x"), array_of("a", "U8", {1}, "y")}),
      UsageError);
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(Safetensors, AFailedWriteLeavesTheOldFileAndNothingElse) {
  write_safetensors(path_, {array_of("a", "U8", {3}, "old")});
  EXPECT_THROW(write_file_atomically("/proc/no/such", {}), IoError);
  // A folder stands where the file should go, so the rename at the end must fail.
  const std::string taken = (folder_ / "taken").string();
  fs::create_directories(fs::path(taken) / "inside");
  EXPECT_THROW(write_file_atomically(taken, {}), IoError);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2);
  EXPECT_EQ(read_safetensors(path_).size(), 1u);
}

}  // namespace
}  // namespace headrace
