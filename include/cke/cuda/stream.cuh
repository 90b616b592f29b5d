// SPDX-License-Identifier: MIT
// stream.cuh: the weights of a launch as a stream for each warp, in the order in which it consumes them.
#pragma once

#include "deal.cuh"
#include "matmul.cuh"

namespace cke::cuda {

// A unit of a matrix: its bytes, its tiles and their bytes, and `run`, the number of adjacent tiles that a warp takes.
struct unit_shape {
  u32 bytes{}, tiles{}, tile_bytes{}, run{};
  dtype as{};
};
template <dtype F> constexpr unit_shape shape_of(u32 cols) {
  constexpr u32 tile = layout_of<F>::tile;
  constexpr u32 of_warp = product<F, 1, sm75>::items_of_warp * format<F>::columns;
  static_assert(of_warp % tile == 0 && std::has_single_bit(of_warp / tile));
  return {static_cast<u32>(unit_bytes<F>(cols)), ceil_div(cols, tile), tile_bytes<F>, of_warp / tile, F};
}

// A matrix, or two whose units are read alternately. Units are dealt out to all blocks, or by kv head to groups.
struct stretch {
  const std::byte *first{}, *second{};
  unit_shape unit{};
  u32 units{}, heads{};  // units: per head if heads > 0
};

// Iterates over a warp's tiles of a token, repeated for `tokens` tokens. stretch_at(i) returns stretch i of `count`.
template <class At> class walk {
 public:
  CKE_CONSTEXPR walk(At stretch_at, u32 count, u32 tokens, dealer deal, u32 warp)
      : stretch_at_(stretch_at), count_(count), warp_(warp), tokens_(tokens), deal_(deal), next_(stretch_at(0)) {
    if (!over()) enter();
  }

  CKE_CONSTEXPR bool over() const { return tokens_ == 0; }
  CKE_CONSTEXPR const std::byte* unit() const {
    return (of_second_ ? now_.second : now_.first) + u64{unit_} * now_.unit.bytes;
  }
  CKE_CONSTEXPR u32 tile() const { return tile_; }
  CKE_CONSTEXPR const unit_shape& shape() const { return now_.unit; }

  CKE_CONSTEXPR void next() {
    ++tile_;
    if ((tile_ & (now_.unit.run - 1)) == 0)
      tile_ += (block_warps - 1) * now_.unit.run;  // skip the tiles of the other warps
    if (tile_ < now_.unit.tiles) return;
    tile_ = warp_ * now_.unit.run;
    of_second_ = now_.second && !of_second_;
    if (of_second_) return;
    unit_ += deal_.size(now_.heads > 0);
    if (unit_ >= end_ && pass()) enter();
  }

 private:
  // Enters the next stretch in which this warp has a tile.
  CKE_CONSTEXPR void enter() {
    while (true) {
      now_ = next_;
      at_ = at_ + 1 < count_ ? at_ + 1 : 0;
      next_ = stretch_at_(at_);  // loaded one stretch ahead
      const bool of_heads = now_.heads > 0;
      const head_range mine = of_heads ? deal_.heads(now_.heads) : head_range{0, 1};
      const u32 begin = now_.units * mine.first, count = now_.units * mine.count;
      unit_ = begin + deal_.first(of_heads), end_ = begin + count, tile_ = warp_ * now_.unit.run;
      deal_.pass(of_heads, count);
      if (unit_ < end_ && tile_ < now_.unit.tiles) return;
      if (!pass()) return;
    }
  }
  CKE_CONSTEXPR bool pass() {
    if (at_ == 0) --tokens_;
    return tokens_ > 0;
  }

  At stretch_at_;
  u32 count_, warp_, tokens_;
  dealer deal_;
  stretch now_{}, next_;
  u32 at_ = 0, unit_ = 0, end_ = 0, tile_ = 0;  // at_: index of next_
  bool of_second_ = false;
};

}  // namespace cke::cuda
