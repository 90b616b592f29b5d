// SPDX-License-Identifier: MIT
// xxh64.hpp: Yann Collet's XXH64, a fast checksum. It detects damage, not tampering.
#pragma once

#include <bit>
#include <cstring>
#include <span>

#include "types.hpp"

CKE_COMPILED_ONCE
namespace cke {

// Hashes bytes that arrive in pieces.
class xxh64 {
 public:
  explicit xxh64(u64 seed = 0) : lanes_{seed + p1 + p2, seed + p2, seed, seed - p1}, seed_(seed) {}

  void add(std::span<const std::byte> bytes) {
    length_ += bytes.size();
    if (held_ + bytes.size() < sizeof block_) return hold(bytes);
    if (held_) {
      const auto first = bytes.first(sizeof block_ - held_);
      hold(first);
      stripe(block_), held_ = 0;
      bytes = bytes.subspan(first.size());
    }
    for (; bytes.size() >= sizeof block_; bytes = bytes.subspan(sizeof block_)) stripe(bytes.data());
    hold(bytes);
  }

  u64 value() const {
    u64 h = seed_ + p5;
    if (length_ >= sizeof block_) {
      h = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) + std::rotl(lanes_[3], 18);
      for (const u64 lane : lanes_) h = (h ^ round(0, lane)) * p1 + p4;
    }
    h += length_;
    u32 at = 0;
    for (; at + 8 <= held_; at += 8) h = std::rotl(h ^ round(0, read<u64>(block_ + at)), 27) * p1 + p4;
    for (; at + 4 <= held_; at += 4) h = std::rotl(h ^ read<u32>(block_ + at) * p1, 23) * p2 + p3;
    for (; at < held_; ++at) h = std::rotl(h ^ static_cast<u64>(block_[at]) * p5, 11) * p1;
    h = (h ^ h >> 33) * p2, h = (h ^ h >> 29) * p3;
    return h ^ h >> 32;
  }

  static u64 of(std::span<const std::byte> bytes, u64 seed = 0) {
    xxh64 h(seed);
    h.add(bytes);
    return h.value();
  }

 private:
  static constexpr u64 p1 = 0x9E3779B185EBCA87, p2 = 0xC2B2AE3D27D4EB4F, p3 = 0x165667B19E3779F9,
                       p4 = 0x85EBCA77C2B2AE63, p5 = 0x27D4EB2F165667C5;
  static_assert(std::endian::native == std::endian::little);

  template <class T> static T read(const std::byte* from) {
    T x;
    std::memcpy(&x, from, sizeof x);
    return x;
  }
  static u64 round(u64 lane, u64 word) { return std::rotl(lane + word * p2, 31) * p1; }
  void stripe(const std::byte* from) {
    for (u32 i = 0; i < 4; ++i) lanes_[i] = round(lanes_[i], read<u64>(from + 8 * i));
  }
  void hold(std::span<const std::byte> bytes) {
    if (!bytes.empty()) std::memcpy(block_ + held_, bytes.data(), bytes.size());
    held_ += static_cast<u32>(bytes.size());
  }

  u64 lanes_[4], seed_, length_ = 0;
  std::byte block_[32]{};
  u32 held_ = 0;
};

}  // namespace cke
