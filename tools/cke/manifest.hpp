// SPDX-License-Identifier: MIT
// manifest.hpp: what a bundle (a .cke file) says of itself: docs/bundles.md.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <cke/core/shape.hpp>
#include <cke/core/types.hpp>
#include <cke/hints.hpp>

#include "rooms.hpp"

namespace cke::tool {

// The first 48 bytes of a bundle, little-endian. The manifest's JSON follows, then the vocabulary, zeros up to a
// multiple of bundle_alignment, and the weights, with which the file ends.
struct bundle_header {
  static constexpr u32 current = 1;

  char magic[8] = {'C', 'K', 'E', '-', 'P', 'A', 'C', 'K'};
  u32 version = current, reserved = 0;
  u64 file_bytes{}, manifest_bytes{}, manifest_sum{};  // the last: XXH64, as all sums here
  u64 sum{};                                           // of the header's bytes before it
  u64 own_sum() const;
};
static_assert(sizeof(bundle_header) == 48);

std::string hex(u64 sum);  // 16 hexadecimal digits

inline constexpr const char* pack_again = "pack the model again";  // what messages advise
inline constexpr u64 bundle_alignment = 1 << 16;                   // no system has larger plain pages
inline constexpr u64 bundle_block = u64{2} << 20;                  // bytes of the weights that have a checksum together

struct manifest {
  struct tensor {
    std::string name, type;  // as the source stores it
    tensor_shape shape;
  };
  struct file {
    std::string path;  // absolute
    u64 bytes{}, sum{};
    i64 modified{};  // in ns since 1970
  };
  struct part {
    u64 offset{}, bytes{}, sum{};
  };
  struct weight {
    std::string name;
    u64 bytes{};
  };
  // A file beside the bundle with some of its weights: all but the last have a multiple of bundle_block bytes.
  struct shard {
    std::string name;
    u64 bytes{};
  };

  std::string version;  // of cke
  // The model, as commands call it, and what its unit is made of.
  std::string name, family, type, format, kv;
  cke::hints hints;
  std::string isa;  // the form of its packed weights
  u32 layout{};
  u64 program{};
  // What was asked for when it was packed, and from what.
  struct origin {
    std::string path, format, kv;  // format: as in unit_options; kv: the type that it got
  };
  origin source;
  std::vector<file> files;
  // The checkpoint without its bytes.
  bool gguf{};
  std::string model_type, config, pooling;
  std::vector<u32> stop_ids;
  std::vector<tensor> tensors;
  // The parts of the file.
  std::optional<part> vocabulary;
  part weights{};  // sum is not used: each block has one; offset, with shards: the size of the file
  std::vector<shard> shards;
  std::vector<u64> block_sums;
  std::vector<weight> list;

  std::string text() const;
  // What the model was packed from, which manifests of all versions of cke say.
  static origin origin_in(const std::string& text, const std::string& file);
  static std::vector<shard> shards_in(const std::string& text, const std::string& file);
  // Throws Error, which names the key: unsupported for another version of cke, malformed unless all keys are there,
  // have values of their type, and agree with one another and with the size of the file, whose parts begin at
  // `parts_begin`.
  static manifest parse(const std::string& text, const std::string& file, u64 parts_begin, u64 file_bytes);
};

}  // namespace cke::tool
