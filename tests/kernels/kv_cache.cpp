// SPDX-License-Identifier: MIT
// kv_cache.cpp: where keys and values go, and what is left of them.
#include "cke/kernels/attention/kv_cache.hpp"

#include "numbers.hpp"

using namespace cke;
using namespace cke::kernels;
using namespace numbers;

// The cache of one head, with its blocks in memory one after the other.
template <class Cache> struct one_head {
  std::vector<std::byte> bytes;
  std::vector<std::byte*> pages;
  one_head(u32 positions, u32 d, u64 more = 0)
      : bytes(ceil_div(positions, key_block) * Cache::block_bytes(d) + more, std::byte{0x5a}) {
    for (u32 b = 0; b < ceil_div(positions, key_block); ++b) pages.push_back(bytes.data() + b * Cache::block_bytes(d));
  }
  kv_blocks blocks() const { return {pages.data(), 0}; }
};

// What a cache keeps of x [d]: whole blocks of 32 share a scale in q8_0.
static std::vector<float> kept(dtype kv, const float* x, u32 d) {
  std::vector<float> out(x, x + d);
  for (u32 i = 0; i < d; ++i) {
    if (kv == dtype::bf16) out[i] = from_bf16(to_bf16(x[i]));
    if (kv == dtype::f16) out[i] = from_f16(to_f16(x[i]));
    if (kv != dtype::q8_0) continue;
    float most = 0;
    for (u32 j = i / 32 * 32; j < std::min(d, i / 32 * 32 + 32); ++j) most = std::max(most, std::abs(x[j]));
    out[i] = from_f16(to_f16(most / 127.f)) * std::nearbyint(x[i] * (127.f / most));
  }
  return out;
}

TEST_CASE("kv_cache: every number has a place of its own inside its block, and reads back rounded") {
  for_each_isa([]<class Isa>() {
    CAPTURE(Isa::name);
    const auto check = []<dtype KV>() {
      using cache = kv_cache<KV, Isa>;
      CAPTURE(info(KV).name);
      for (const u32 d : {2u, 24u, 64u, 90u}) {
        const u32 positions = 131;
        const std::vector<std::byte> guard(64, std::byte{0x5a});
        const one_head<cache> head(positions, d, guard.size());
        const auto keys = random_row(u64{positions} * d, d), values = random_row(u64{positions} * d, d + 1);
        for (u32 s = positions; s-- > 0;) cache::store(head.blocks(), s, d, &keys[u64{s} * d], &values[u64{s} * d]);
        looked_at all_keys, all_values;  // [position][dim]
        for (u32 s = 0; s < positions; ++s) {
          const auto k = kept(KV, &keys[u64{s} * d], d), v = kept(KV, &values[u64{s} * d], d);
          for (u32 i = 0; i < d; ++i) {
            const float key = cache::key(head.blocks(), s, d, i), value = cache::value(head.blocks(), s, d, i);
            all_keys.see(key == k[i], s, i, key, k[i]), all_values.see(value == v[i], s, i, value, v[i]);
          }
        }
        CHECK(all_keys);
        CHECK(all_values);
        CHECK(std::equal(guard.begin(), guard.end(), head.bytes.end() - 64));
        // two by two, beside the last one: the same bytes
        const one_head<cache> twice(positions, d, guard.size());
        const auto key = [&](u32 s) { return &keys[u64{s} * d]; };
        const auto value = [&](u32 s) { return &values[u64{s} * d]; };
        for (u32 s = 0; s + 1 < positions; s += 2)
          cache::template store<2>(twice.blocks(), s, d, {key(s), key(s + 1)}, {value(s), value(s + 1)});
        cache::store(twice.blocks(), positions - 1, d, key(positions - 1), value(positions - 1));
        CHECK(twice.bytes == head.bytes);
      }
    };
    check.template operator()<dtype::f32>();
    check.template operator()<dtype::f16>();
    check.template operator()<dtype::bf16>();
    check.template operator()<dtype::q8_0>();
  });
}

TEST_CASE("kv_cache: sizes are whole blocks; what f16 cannot hold becomes its greatest number") {
  using half = kv_cache<dtype::f16, isa::scalar>;
  using bytes = kv_cache<dtype::q8_0, isa::native>;
  static_assert(half::block_bytes(64) == 2 * 128 * 64 * 2);
  static_assert(half::block_bytes(20) == 2 * 128 * 32 * 2);
  static_assert(bytes::block_bytes(100) == 2 * 128 * 4 * 34);
  static_assert(kv_cache<dtype::f32, isa::scalar>::block_bytes(1u << 20) == u64{2 * 128 * 4} << 20);
  const float great[2]{1e6f, -HUGE_VALF};
  const one_head<half> head(1, 2);
  half::store(head.blocks(), 0, 2, great, great);
  CHECK(half::key(head.blocks(), 0, 2, 0) == 65504.f);
  CHECK(half::value(head.blocks(), 0, 2, 1) == -65504.f);
  // a scale too
  const float huge[2]{1e9f, -1e9f};
  const one_head<bytes> scaled(1, 2);
  bytes::store(scaled.blocks(), 0, 2, huge, huge);
  CHECK(bytes::key(scaled.blocks(), 0, 2, 0) == 127 * 65504.f);
  CHECK(bytes::value(scaled.blocks(), 0, 2, 1) == -127 * 65504.f);
}
