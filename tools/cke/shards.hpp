// SPDX-License-Identifier: MIT
// shards.hpp: the weights of a bundle in files of their own, beside it: docs/bundles.md.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "manifest.hpp"
#include "rooms.hpp"

namespace cke::tool {

// Names files for weights of so many bytes, none of them larger than `most`, a multiple of bundle_block. The names have
// a checksum of the weights, so that files of other weights keep theirs.
std::vector<manifest::shard> shards_of(const std::string& bundle, std::span<const u64> block_sums, u64 bytes, u64 most);

// Writes them into the bundle's folder. A file of a name that is there has the same bytes, and is replaced.
void write_shards(const std::string& bundle, std::span<const manifest::shard> shards,
                  std::span<const std::byte> weights);

// Removes those of `old` that `now` does not have.
void remove_shards(const std::string& bundle, std::span<const manifest::shard> old,
                   std::span<const manifest::shard> now);

// The files of a bundle one after the other in memory, read-only.
class mapped_shards {
 public:
  // Throws Error for one that is missing or has another size.
  mapped_shards(const std::string& bundle, std::span<const manifest::shard> shards);
  ~mapped_shards();
  mapped_shards(const mapped_shards&) = delete;
  mapped_shards& operator=(const mapped_shards&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

}  // namespace cke::tool
