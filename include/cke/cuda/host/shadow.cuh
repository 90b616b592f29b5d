// SPDX-License-Identifier: MIT
// shadow.cuh: a race detector's record of memory: which thread wrote and read each word, and when.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "../../core/concat.hpp"
#include "../../core/error.hpp"

namespace cke::host_run {

// Reports an error of device code found at run time: an access outside of an allocation, a read of uninitialised
// memory, a data race, or a deadlock.
[[noreturn]] inline void fault(std::string_view about, std::string_view expected, std::string_view found = {}) {
  throw Error(errc::malformed, {}, concat({"device code: ", about}), expected, found);
}

// Which thread touched a word, and when. A block barrier starts a new interval of the block, a warp barrier one of the
// warp. Blocks are ordered by release and acquire on synchronisation words: see sync_word.
struct mark {
  static constexpr u32 several = ~0u;
  u32 launch{}, block{}, interval{}, warp{}, warp_interval{}, lane{};

  // `seen` is what the block of `o` has seen: for each block, the interval before which all accesses precede `o`.
  bool unordered_with(const mark& o, std::span<const u32> seen) const {
    if (launch != o.launch) return false;
    if (block != o.block) return block >= seen.size() || interval >= seen[block];
    if (interval != o.interval) return false;
    if (warp != o.warp) return true;
    return warp_interval == o.warp_interval && lane != o.lane;
  }
  // Merges o, so that this mark is unordered with whatever either of the two is.
  void add(const mark& o) {
    if (launch != o.launch) *this = o;
    else if (block != o.block) block = several;
    else if (interval != o.interval) *this = o;
    else if (warp != o.warp) warp = several;
    else if (warp_interval != o.warp_interval) *this = o;
    else if (lane != o.lane) lane = several;
  }
};

// The state of a range of memory, in cells of four bytes.
class shadow {
 public:
  explicit shadow(u64 bytes = 0) : cells_((bytes + 3) / 4) {}

  void read(u64 offset, u64 bytes, const mark& who, std::span<const u32> seen) {
    each(offset, bytes, [&](cell& c) {
      if (!c.written) fault("a read", "a word that something wrote");
      if (c.write.unordered_with(who, seen)) fault("a read", "a barrier after the write of another thread");
      if (!seen.empty() && c.reads.block != who.block && c.reads.unordered_with(who, seen)) keep(c);
      if (!seen.empty() && c.reads.block != who.block) c.reads = who;
      else c.reads.add(who);
    });
  }
  void write(u64 offset, u64 bytes, const mark& who, std::span<const u32> seen) {
    each(offset, bytes, [&](cell& c) {
      // Two threads may write the halves of a word, as 16-bit numbers.
      const bool half = bytes < 4, other_half = half && c.write_offset != offset;
      bool read_unseen = c.reads.unordered_with(who, seen);
      if (c.kept)
        for (const mark& m : kept_[c.kept - 1]) read_unseen = read_unseen || m.unordered_with(who, seen);
      if (!other_half && c.write.unordered_with(who, seen))
        fault("a write", "a barrier after the write of another thread");
      if (!other_half && read_unseen) fault("a write", "a barrier after the read of another thread");
      if (c.kept && !other_half) kept_[c.kept - 1].clear();
      c.written = true, c.write = who, c.write_offset = offset;
    });
  }
  // Called by the host between launches.
  void fill(u64 offset, u64 bytes, bool written) {
    each(offset, bytes, [&](cell& c) { c = {written, 0, 0, {}, {}}; });
  }
  void copy(u64 offset, const shadow& from, u64 from_offset, u64 bytes) {
    for (u64 i = 0; i < bytes / 4; ++i)
      cells_[offset / 4 + i] = {from.cells_[from_offset / 4 + i].written, 0, 0, {}, {}};
  }

 private:
  struct cell {
    bool written{};
    u32 kept{};  // 0, or 1 + an index into kept_
    u64 write_offset{};
    mark write{}, reads{};
  };
  // Co-resident blocks may read a word concurrently. A mark records one block; this list keeps the reads of the others.
  void keep(cell& c) {
    if (!c.kept) kept_.emplace_back(), c.kept = static_cast<u32>(kept_.size());
    auto& others = kept_[c.kept - 1];
    std::erase_if(others, [&](const mark& m) { return m.launch != c.reads.launch || m.block == c.reads.block; });
    others.push_back(c.reads);
  }
  template <class F> void each(u64 offset, u64 bytes, F f) {
    for (u64 i = offset / 4; i < (offset + bytes + 3) / 4; ++i) f(cells_[i]);
  }
  std::vector<cell> cells_;
  std::vector<std::vector<mark>> kept_;
};

}  // namespace cke::host_run
