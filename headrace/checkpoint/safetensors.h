// SPDX-License-Identifier: Apache-2.0
//
// Named arrays in one file: safetensors, written whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace headrace {

// One array to write; `data` stays the caller's. dtype is the format's name: "F32", "I64", ...
struct NamedArray {
  std::string name;
  std::string dtype = "F32";
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data;
};

// One array that was read, with memory of its own.
struct LoadedArray {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;
};

// Writes to a temporary name in the same folder, syncs, renames, syncs the folder: at any moment
// `path` is the old file or the whole new one. Always adds metadata {"format": "pt"}, which
// transformers asks for. Throws UsageError for a duplicate name or a size that does not match its
// shape, IoError (with the path and the system's reason) when the disk refuses; the old file is
// left.
void write_safetensors(const std::string& path, std::vector<NamedArray> arrays,
                       std::map<std::string, std::string> metadata = {});

// Reads and checks everything: header length, JSON, duplicate keys, shapes, offsets without holes
// or overlaps. Throws ParseError "FILE: ..." that says which rule is broken.
[[nodiscard]] std::vector<LoadedArray> read_safetensors(const std::string& path);

// The same durable replacement for any file.
void write_file_atomically(const std::string& path, std::span<const std::byte> content);

}  // namespace headrace
