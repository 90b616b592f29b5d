// SPDX-License-Identifier: MIT
// pass_rows.cuh: the rows of a pass over one or more sequences, laid out for device code.
#pragma once

#include "../runtime/page_pool.hpp"
#include "kernel.cuh"

namespace cke::cuda {

// Holds ids [tokens], segment_of [tokens], segments and pages; the host copy has the layout of the device's.
class pass_rows {
 public:
  // Room for `most` rows, even if each is of a different sequence of `pages` pages.
  pass_rows(page_memory& memory, u32 most, u32 pages) {
    segment_of_at_ = align_up(u64{most} * sizeof(u32)), segments_at_ = 2 * segment_of_at_;
    pages_at_ = segments_at_ + align_up(u64{most} * sizeof(segment));
    host_.resize(pages_at_ + u64{most} * pages * sizeof(std::byte*));
    device_ = memory.take(host_.size());
  }

  void clear() { tokens_ = wanted_ = segments_ = pages_ = 0, keys_ = 1; }
  // Appends rows of one sequence, starting at `position`.
  void add(std::span<const u32> ids, u32 position, std::byte* const* pages) {
    if (ids.empty()) return;
    const auto n = static_cast<u32>(ids.size());
    std::memcpy(host_.data() + u64{tokens_} * 4, ids.data(), ids.size_bytes());
    const segment g{tokens_, n, position, pages_};
    std::memcpy(host_.data() + segments_at_ + u64{segments_} * sizeof g, &g, sizeof g);
    for (u32 t = 0; t < n; ++t) std::memcpy(host_.data() + segment_of_at_ + u64{tokens_ + t} * 4, &segments_, 4);
    const u32 blocks = ceil_div(position + n, key_block);
    std::memcpy(host_.data() + pages_at_ + u64{pages_} * 8, pages, u64{blocks} * 8);
    tokens_ += n, wanted_ = tokens_, ++segments_, pages_ += blocks, keys_ = std::max(keys_, blocks);
  }
  // Appends padding rows, up to `rows` in all; they form a sequence of their own that starts in `page`.
  void fill_up(u32 rows, std::byte* page) {
    if (rows <= tokens_) return;
    const u32 wanted = wanted_;
    add(std::vector<u32>(rows - tokens_), 0, &page);
    wanted_ = wanted;
  }
  template <class Device> void upload(Device& device) const {
    const auto send = [&](u64 from, u64 bytes) { device.write(device_ + from, host_.data() + from, bytes); };
    send(0, u64{tokens_} * 4), send(segment_of_at_, u64{tokens_} * 4);
    send(segments_at_, u64{segments_} * sizeof(segment)), send(pages_at_, u64{pages_} * 8);
  }

  u32 tokens() const { return wanted_; }
  u32 sequences() const { return segments_; }  // with that of padding rows
  u32 key_blocks() const { return keys_; }     // of the longest sequence
  pass now() const {
    return {reinterpret_cast<u32*>(device_), reinterpret_cast<u32*>(device_ + segment_of_at_),
            reinterpret_cast<segment*>(device_ + segments_at_), reinterpret_cast<std::byte**>(device_ + pages_at_)};
  }

 private:
  std::vector<std::byte> host_;
  std::byte* device_{};
  u64 segment_of_at_{}, segments_at_{}, pages_at_{};
  u32 tokens_{}, wanted_{}, segments_{}, pages_{}, keys_ = 1;
};

}  // namespace cke::cuda
