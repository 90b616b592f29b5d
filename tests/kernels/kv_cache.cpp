// SPDX-License-Identifier: MIT
// kv_cache.cpp: where keys and values go, and what is left of them.
#include "cke/kernels/kv_cache.hpp"

#include "numbers.hpp"

using namespace cke;
using namespace numbers;

TEST_CASE(
    "kv_cache: every number has a place of its own inside head_bytes, and reads back rounded") {
  for_each_isa([]<class Isa>() {
    CAPTURE(Isa::name);
    const auto check = []<dtype KV>() {
      using cache = kv_cache<KV, Isa>;
      CAPTURE(info(KV).name);
      for (const u32 d : {2u, 24u, 64u, 90u}) {
        const u32 positions = 131;
        const u64 elements = cache::head_bytes(positions, d) / sizeof(typename cache::element);
        const auto hole = cache::encode(-123.f);
        std::vector<typename cache::element> k(elements, hole), v(elements, hole);
        const auto keys = random_row(u64{positions} * d, d),
                   values = random_row(u64{positions} * d, d + 1);
        for (u32 s = positions; s-- > 0;)
          cache::store(k.data(), v.data(), s, d, &keys[u64{s} * d], &values[u64{s} * d]);
        bool right = true;
        for (u32 s = 0; s < positions; ++s)
          for (u32 i = 0; i < d; ++i) {
            right = right && k.at(cache::k_index(s, d, i)) == cache::encode(keys[u64{s} * d + i]);
            right = right && v.at(cache::v_index(s, d, i)) == cache::encode(values[u64{s} * d + i]);
          }
        CHECK(right);
        for (const auto& part : {k, v})
          CHECK(elements - static_cast<u64>(std::count(part.begin(), part.end(), hole)) ==
                u64{positions} * d);
      }
    };
    check.template operator()<dtype::f32>();
    check.template operator()<dtype::f16>();
    check.template operator()<dtype::bf16>();
  });
}

TEST_CASE("kv_cache: sizes are whole blocks; what f16 cannot hold becomes its greatest number") {
  using half = kv_cache<dtype::f16, isa::scalar>;
  static_assert(half::head_bytes(1, 64) == 128 * 64 * 2);
  static_assert(half::head_bytes(129, 20) == 256 * 24 * 2);
  static_assert(kv_cache<dtype::f32, isa::scalar>::head_bytes(1u << 20, 128) == u64{128 * 4} << 20);
  CHECK(half::decode(half::encode(1e6f)) == 65504.f);
  CHECK(half::decode(half::encode(-HUGE_VALF)) == -65504.f);
}
