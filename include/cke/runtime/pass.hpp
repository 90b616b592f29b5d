// SPDX-License-Identifier: MIT
// pass.hpp: the rows of one pass over the weights, and the sequences that they belong to.
#pragma once

#include <algorithm>
#include <cstring>

#include "../kernels/kernel.hpp"
#include "arena.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

struct pass_segments {
  std::span<const segment> segments{};
  const u32* segment_of{};
  std::span<const u32> tiles{};
};
struct pass {
  u32 tokens{};
  const u32* ids{};
  u32 skip{};  // rows at the front of the stream that are left out
  std::span<const segment> segments{};
  const u32* segment_of{};
  std::span<const u32> tiles{};
  table_rows positions{};   // of a tower: the places of its patches
  pass_segments windows{};  // of a tower
  bool within{};  // begins inside a block whose first phases had all rows: `skip` applies to the block's registers too

  // The segments that a step works on: an attention with windows sees those.
  pass_segments seen_by(const params& p) const {
    return window_of_patches(p) ? windows : pass_segments{segments, segment_of, tiles};
  }
};

// Puts a pass together, sequence by sequence.
class pass_rows {
 public:
  pass_rows() = default;
  // For at most `most` rows, in bytes(most) of memory from the arena.
  pass_rows(arena& from, u32 most)
      : ids_(from.take<u32>(most)),
        segment_of_(from.take<u32>(most)),
        tiles_(from.take<u32>(most)),
        segments_(from.take<segment>(most)) {}
  static constexpr u64 bytes(u32 most) {
    return 3 * align_up(u64{most} * sizeof(u32)) + align_up(u64{most} * sizeof(segment));
  }

  void clear() { tokens_ = tile_count_ = segment_count_ = 0; }
  // Appends the ids of a sequence, the first of them at `position`.
  void add(std::span<const u32> ids, u32 position, std::byte* const* persistent, std::byte* const* transient,
           bool turned = false) {
    if (ids.empty()) return;
    std::memcpy(ids_ + tokens_, ids.data(), ids.size_bytes());
    add(static_cast<u32>(ids.size()), position, persistent, transient, turned);
  }
  // Appends n rows without ids.
  void add(u32 n, u32 position, std::byte* const* persistent, std::byte* const* transient, bool turned = false) {
    for (u32 t = 0; t < n; ++t) {
      segment_of_[tokens_ + t] = segment_count_;
      if (t % unit_tokens == 0) tiles_[tile_count_++] = tokens_ + t;
    }
    segments_[segment_count_++] = {tokens_, n, position, {persistent, transient}, turned};
    tokens_ += n;
  }
  // Copies the rows of another pass from `row` on.
  void take(const pass_rows& other, u32 row) {
    clear();
    for (const segment& s : std::span(other.segments_, other.segment_count_)) {
      const u32 skipped = std::min(s.tokens, row - std::min(row, s.first));
      add({other.ids_ + s.first + skipped, s.tokens - skipped}, s.position + skipped, s.pages[0], s.pages[1], s.turned);
    }
  }
  u32 tokens() const { return tokens_; }
  void replace_id(u32 row, u32 id) { ids_[row] = id; }
  pass_segments parts() const { return {{segments_, segment_count_}, segment_of_, {tiles_, tile_count_}}; }
  pass all() const { return {tokens_, ids_, 0, {segments_, segment_count_}, segment_of_, {tiles_, tile_count_}}; }

 private:
  u32 tokens_{}, tile_count_{}, segment_count_{};
  u32 *ids_{}, *segment_of_{}, *tiles_{};
  segment* segments_{};
};

}  // namespace cke::runtime
CKE_COLD_END
