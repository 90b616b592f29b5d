// SPDX-License-Identifier: MIT
// bundle.hpp: opens a bundle, a .cke file with a model's packed weights: docs/bundles.md.
#pragma once

#include <memory>
#include <string>

#include <cke/cke.h>
#include <cke/io/checkpoint.hpp>
#include <cke/io/mapped_file.hpp>

#include "block_check.hpp"
#include "manifest.hpp"
#include "rooms.hpp"
#include "shards.hpp"
#include "unit.hpp"

namespace cke::tool {

// Whether the file begins as bundles do; false too if it cannot be read.
bool is_bundle(const std::string& path);

// What a bundle was packed from, of whatever version of cke. Throws Error.
manifest::origin origin_of_bundle(const std::string& path);
// The files beside it that it names; none too if it cannot be read.
std::vector<manifest::shard> shards_of_bundle(const std::string& path);

class bundle {
 public:
  // Maps the file, checks its header and manifest, and that none of the files that it was packed from has changed
  // since. Throws Error, which names the file and the field.
  explicit bundle(const std::string& path);

  const manifest& about() const { return manifest_; }
  // With the vocabulary, and tensors without their bytes. Throws Error.
  checkpoint as_checkpoint() const;

  // Begins to check the weights, on so many threads. They must not be used before finish() has returned.
  std::unique_ptr<block_check> check_weights(u32 threads) const;
  // Throws malformed.
  void finish(block_check& check) const;
  // The weights, over sizes(), which must outlive the result.
  cke_packed packed(std::span<const u64> sizes) const;
  std::vector<u64> sizes() const;
  std::shared_ptr<const void> kept() const { return std::make_shared<std::pair<file, shards>>(file_, shards_); }

 private:
  using file = std::shared_ptr<const mapped_file>;
  using shards = std::shared_ptr<const mapped_shards>;
  std::span<const std::byte> part(const manifest::part& p) const { return file_->bytes().subspan(p.offset, p.bytes); }
  std::span<const std::byte> weights() const { return shards_ ? shards_->bytes() : part(manifest_.weights); }
  void check_padding() const;
  void check_source() const;

  file file_;
  shards shards_;  // null: the weights are in the file
  u64 parts_begin_{};
  manifest manifest_;
};

// The unit of a bundle's model. Throws Error if `asked` has another format, and if this command makes another type of
// the bundle's checkpoint than the one that packed it.
unit unit_of_bundle(const manifest& m, const checkpoint& from, const unit_options& asked);

// The checksum of a file. Throws Error.
u64 sum_of_file(const std::string& path);
// Its size and when it was modified, in ns since 1970; false if there is none.
bool stamp_of_file(const std::string& path, u64& bytes, i64& modified);

}  // namespace cke::tool
