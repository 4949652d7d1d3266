// SPDX-License-Identifier: Apache-2.0
#include "headrace/checkpoint/safetensors.h"

#include "headrace/base/error.h"
#include "headrace/base/text.h"
#include "headrace/checkpoint/internal/atomic_file.h"
#include "headrace/checkpoint/internal/format.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <tuple>

namespace headrace {
namespace {

constexpr std::size_t kLengthBytes = 8;

void check_arrays(const std::string& path, const std::vector<NamedArray>& arrays) {
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const NamedArray& array = arrays[i];
    if (!internal::bits_of(array.dtype))
      throw UsageError(
          fmt::format("{}: \"{}\" has the unknown dtype {}", path, array.name, array.dtype));
    const auto bytes = internal::bytes_of(array.dtype, array.shape);
    if (!bytes || *bytes != static_cast<std::int64_t>(array.data.size()))
      throw UsageError(fmt::format("{}: \"{}\" has {} bytes, but its shape takes {}", path,
                                   array.name, array.data.size(), bytes.value_or(-1)));
    if (array.name.empty() || array.name == "__metadata__")
      throw UsageError(fmt::format("{}: \"{}\" cannot name an array", path, array.name));
  }
  std::vector<std::string_view> names;
  for (const NamedArray& array : arrays) names.push_back(array.name);
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    throw UsageError(fmt::format("{}: two arrays are named \"{}\"", path, *twice));
}

std::string header_of(const std::vector<NamedArray>& arrays,
                      const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header;
  header["__metadata__"] = metadata;
  std::size_t at = 0;
  for (const NamedArray& array : arrays) {
    header[array.name] = {{"dtype", array.dtype},
                          {"shape", array.shape},
                          {"data_offsets", {at, at + array.data.size()}}};
    at += array.data.size();
  }
  std::string text = header.dump();
  text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');
  return text;
}

std::array<std::byte, kLengthBytes> little_endian(std::uint64_t value) {
  std::array<std::byte, kLengthBytes> bytes{};
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(value & 0xff);
    value >>= 8;
  }
  return bytes;
}

}  // namespace

void write_safetensors(const std::string& path, std::vector<NamedArray> arrays,
                       std::map<std::string, std::string> metadata) {
  check_arrays(path, arrays);
  metadata.emplace("format", "pt");
  // Wide types first, so that every array is aligned in the file.
  std::sort(arrays.begin(), arrays.end(), [](const NamedArray& a, const NamedArray& b) {
    const int left = *internal::bits_of(a.dtype);
    const int right = *internal::bits_of(b.dtype);
    return left != right ? left > right : a.name < b.name;
  });
  const std::string header = header_of(arrays, metadata);
  internal::AtomicFile file(path);
  file.write(little_endian(header.size()));
  file.write(std::as_bytes(std::span(header)));
  for (const NamedArray& array : arrays) file.write(array.data);
  file.commit();
}

std::vector<LoadedArray> read_safetensors(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const auto size = file ? static_cast<std::int64_t>(file.tellg()) : -1;
  if (size < 0) throw IoError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  const auto lead = static_cast<std::int64_t>(kLengthBytes);
  const auto refuse = [&](const std::string& words) {
    throw ParseError(fmt::format("{}: {}", path, words));
  };
  if (size < lead) refuse(fmt::format("{} bytes are too few for a safetensors file", size));
  file.seekg(0);
  std::array<unsigned char, kLengthBytes> length_bytes{};
  file.read(reinterpret_cast<char*>(length_bytes.data()), lead);
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;) length = (length << 8) | length_bytes[i];
  if (length > static_cast<std::uint64_t>(internal::kLargestHeader))
    refuse(fmt::format("the header is {} bytes long; at most {} are allowed", length,
                       internal::kLargestHeader));
  const auto header_bytes = static_cast<std::int64_t>(length);
  if (header_bytes > size - lead)
    refuse(fmt::format("the header is {} bytes long, but only {} follow", length, size - lead));
  std::string header(static_cast<std::size_t>(header_bytes), '\0');
  file.read(header.data(), header_bytes);
  std::vector<LoadedArray> arrays;
  for (auto& entry : internal::parse_header(header, size - lead - header_bytes, path)) {
    LoadedArray array{std::move(entry.name), std::move(entry.dtype), std::move(entry.shape), {}};
    array.data.resize(static_cast<std::size_t>(entry.end - entry.begin));
    file.read(reinterpret_cast<char*>(array.data.data()), entry.end - entry.begin);
    if (!file) throw IoError(fmt::format("{}: \"{}\" cannot be read", path, array.name));
    arrays.push_back(std::move(array));
  }
  return arrays;
}

}  // namespace headrace
