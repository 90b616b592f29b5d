// SPDX-License-Identifier: MIT
// shadow.cuh: what is known of memory that device code touches on the host: who wrote and read it, and when.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "../../core/concat.hpp"
#include "../../core/error.hpp"

namespace cke::host_run {

// What makes device code wrong, found when it runs: an access outside of what was allocated, a read of what
// nobody wrote, two accesses that no barrier orders, threads that wait for one that never comes.
[[noreturn]] inline void fault(std::string_view about, std::string_view expected, std::string_view found = {}) {
  throw Error(errc::malformed, {}, concat({"device code: ", about}), expected, found);
}

// Who touched a word, and when. Barriers begin a new interval of a block, warp barriers one of a warp. Blocks are
// ordered by what one says, in a word that is shared on purpose, and another hears: see sync_word.
struct mark {
  static constexpr u32 several = ~0u;
  u32 launch{}, block{}, interval{}, warp{}, warp_interval{}, lane{};

  // From here on `seen` is what the block of `o` knows: of each block, the interval before which it has seen all.
  bool unordered_with(const mark& o, std::span<const u32> seen) const {
    if (launch != o.launch) return false;
    if (block != o.block) return block >= seen.size() || interval >= seen[block];
    if (interval != o.interval) return false;
    if (warp != o.warp) return true;
    return warp_interval == o.warp_interval && lane != o.lane;
  }
  // As one mark that is unordered with whatever one of both is.
  void add(const mark& o) {
    if (launch != o.launch) *this = o;
    else if (block != o.block) block = several;
    else if (interval != o.interval) *this = o;
    else if (warp != o.warp) warp = several;
    else if (warp_interval != o.warp_interval) *this = o;
    else if (lane != o.lane) lane = several;
  }
};

// What is known of some memory, four bytes at a time.
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
      // Numbers of two bytes share a word: neighbours may write its halves.
      const bool half = bytes < 4, other_half = half && c.write_offset != offset;
      bool read_unseen = c.reads.unordered_with(who, seen);
      if (c.kept)
        for (const mark& m : kept_[c.kept - 1]) read_unseen = read_unseen || m.unordered_with(who, seen);
      if (!other_half && c.write.unordered_with(who, seen)) fault("a write", "a barrier after the write of another thread");
      if (!other_half && read_unseen) fault("a write", "a barrier after the read of another thread");
      if (c.kept && !other_half) kept_[c.kept - 1].clear();
      c.written = true, c.write = who, c.write_offset = offset;
    });
  }
  // By the host, between launches.
  void fill(u64 offset, u64 bytes, bool written) {
    each(offset, bytes, [&](cell& c) { c = {written, 0, 0, {}, {}}; });
  }
  void copy(u64 offset, const shadow& from, u64 from_offset, u64 bytes) {
    for (u64 i = 0; i < bytes / 4; ++i) cells_[offset / 4 + i] = {from.cells_[from_offset / 4 + i].written, 0, 0, {}, {}};
  }

 private:
  struct cell {
    bool written{};
    u32 kept{};  // 0, or one more than the number of a list of kept_
    u64 write_offset{};
    mark write{}, reads{};
  };
  // Blocks that live at once read at once; a mark is of one of them, and those of the others are kept here.
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
