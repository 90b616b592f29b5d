// SPDX-License-Identifier: MIT
// sha256.hpp: SHA-256 (FIPS 180-4): no two contents with one sum are known.
#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <string_view>

#include "types.hpp"

namespace cke {

class sha256 {
 public:
  void add(std::string_view bytes) {
    total_ += bytes.size();
    while (!bytes.empty()) {
      const std::size_t n = bytes.size() < 64 - held_ ? bytes.size() : 64 - held_;
      std::memcpy(block_.data() + held_, bytes.data(), n);
      bytes.remove_prefix(n);
      if ((held_ += n) == 64) compress();
    }
  }

  // Returns 64 hexadecimal digits; the object cannot be used afterwards.
  std::string hex() {
    const u64 bits = total_ * 8;
    add(std::string_view("\x80", 1));
    while (held_ != 56) add(std::string_view("\0", 1));
    for (u32 i = 0; i < 8; ++i) block_[held_++] = static_cast<u8>(bits >> (56 - 8 * i));
    compress();
    std::string out;
    for (const u32 word : state_)
      for (int shift = 28; shift >= 0; shift -= 4) out += "0123456789abcdef"[word >> shift & 15];
    return out;
  }

 private:
  static constexpr u32 rounds[64] = {
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
      0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
      0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
      0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
      0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
      0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
      0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
      0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

  void compress() {
    u32 w[64];
    for (u32 i = 0; i < 16; ++i)
      w[i] = u32{block_[4 * i]} << 24 | u32{block_[4 * i + 1]} << 16 | u32{block_[4 * i + 2]} << 8 | block_[4 * i + 3];
    for (u32 i = 16; i < 64; ++i) {
      const u32 a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + w[i - 7] +
          (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (u32 i = 0; i < 64; ++i) {
      const u32 x =
          h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + rounds[i] + w[i];
      const u32 y = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + x, d = c, c = b, b = a, a = x + y;
    }
    const u32 sum[] = {a, b, c, d, e, f, g, h};
    for (u32 i = 0; i < 8; ++i) state_[i] += sum[i];
    held_ = 0;
  }

  std::array<u32, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<u8, 64> block_{};
  std::size_t held_ = 0;
  u64 total_ = 0;
};

inline std::string sha256_of(std::string_view bytes) {
  sha256 sum;
  sum.add(bytes);
  return sum.hex();
}

}  // namespace cke
