// SPDX-License-Identifier: MIT
// attention.cpp: attention against PyTorch, and its promise that a query's bits are its own.
#include "cke/kernels/attention/attention.hpp"

#include "numbers.hpp"

using namespace cke;
using namespace cke::kernels;
using namespace numbers;

namespace {

// One kv head of a cache, written position by position over memory full of old numbers.
template <dtype KV, class Isa> struct head_cache {
  using layout = kv_cache<KV, Isa>;
  u32 d;
  std::vector<std::byte> data;
  std::vector<std::byte*> pages;  // the blocks, last first

  head_cache(u32 positions, u32 head_dim, float stale)
      : d(head_dim), data(ceil_div(positions, key_block) * layout::block_bytes(d)) {
    for (u32 b = ceil_div(positions, key_block); b-- > 0;) pages.push_back(data.data() + b * layout::block_bytes(d));
    const std::vector<float> old(d, stale);
    for (u32 s = 0; s < align_up(positions, key_block); ++s) store(s, old.data(), old.data());
  }
  void store(u32 position, const float* key, const float* value) { layout::store(blocks(), position, d, key, value); }
  kv_blocks blocks() const { return {pages.data(), 0}; }
};

struct view_of_keys {
  u32 keys, first;
};

// Results of all queries, [queries][d], computed in calls of at most `together`.
template <dtype KV, class Isa>
std::vector<float> attend(const head_cache<KV, Isa>& c, const std::vector<float>& q,
                          const std::vector<view_of_keys>& sees, u32 together, float scale, float cap) {
  using kernel = head_attention<KV, Isa>;
  std::vector<float> out(q.size());
  std::vector<attention_query> queries;
  for (u32 i = 0; i < sees.size(); ++i)
    queries.push_back({q.data() + u64{i} * c.d, out.data() + u64{i} * c.d, sees[i].keys, sees[i].first});
  std::vector<float> area(kernel::workspace_bytes(c.d, together) / sizeof(float) + 16);
  auto* const workspace = reinterpret_cast<float*>(align_up(reinterpret_cast<std::uintptr_t>(area.data())));
  for (std::size_t i = 0; i < queries.size(); i += together)
    kernel::run(std::span(queries).subspan(i, std::min<std::size_t>(together, queries.size() - i)), c.blocks(),
                {c.d, scale, cap}, workspace);
  return out;
}

// With VNNI an isa differs from its base by the dots of pairs only; the rest is compiled once.
template <class F> void for_each_cache(F&& f) {
  for_each_isa_of_integers([&]<class Isa>() {
    f.template operator()<dtype::q8_0, Isa>();
    if constexpr (!is_another_avx2<Isa>) f.template operator()<dtype::bf16, Isa>();
    if constexpr (std::is_same_v<Isa, isa::native> || !(std::is_same_v<Isa, isa::avx512> || is_another_avx2<Isa>)) {
      f.template operator()<dtype::f32, Isa>();
      f.template operator()<dtype::f16, Isa>();
    }
  });
}

}  // namespace

TEST_CASE("attention: grouped heads, windows, soft caps and odd head sizes are PyTorch's") {
  for_each_cache([]<dtype KV, class Isa>() {
    CAPTURE(Isa::name);
    CAPTURE(info(KV).name);
    fixture<float> f("attention.f32");
    for (u32 cases = f.count(); cases > 0; --cases) {
      const u32 heads = f.count(), kv_heads = f.count(), d = f.count(), tokens = f.count(), past = f.count(),
                window = f.count(), keys = past + tokens, group = heads / kv_heads;
      const float cap = f.next(), scale = f.next();
      const auto q = f.next(u64{tokens} * heads * d), k = f.next(u64{keys} * kv_heads * d),
                 v = f.next(u64{keys} * kv_heads * d), expected = f.next(q.size());
      CAPTURE(d);
      for (u32 h = 0; h < kv_heads; ++h) {
        head_cache<KV, Isa> cache(keys, d, 1000.f);
        for (u32 s = 0; s < keys; ++s) {
          const u64 at = (u64{s} * kv_heads + h) * d;
          cache.store(s, &k[at], &v[at]);
        }
        std::vector<float> q_of_head, expected_of_head;
        std::vector<view_of_keys> sees;
        for (u32 t = 0; t < tokens; ++t)
          for (u32 g = 0; g < group; ++g) {
            const u64 at = (u64{t} * heads + h * group + g) * d;
            q_of_head.insert(q_of_head.end(), &q[at], &q[at] + d);
            expected_of_head.insert(expected_of_head.end(), &expected[at], &expected[at] + d);
            const u32 visible = past + t + 1;
            sees.push_back({visible, window && window < visible ? visible - window : 0});
          }
        const auto out = attend(cache, q_of_head, sees, 32, scale, cap);
        // The fixture's numbers are exact in 16 bits; bf16 rounds the weights, at most 2^-9 of each.
        const double bound = KV == dtype::bf16 ? 4e-3 : KV == dtype::q8_0 ? 3e-2 : 4e-6;
        CHECK(distance(out, expected_of_head) < bound);
      }
    }
    CHECK(f.done());
  });
}

TEST_CASE("attention: a query's bits do not depend on its neighbours, the call, or stale numbers") {
  for_each_cache([]<dtype KV, class Isa>() {
    CAPTURE(Isa::name);
    CAPTURE(info(KV).name);
    // 40 dims are two panels of AVX2 and one of AVX-512; 72 are three and two.
    const u32 d = KV == dtype::bf16 ? 72 : 40, n = 30;
    const float scale = 0.2f, cap = Isa::lanes == 16 ? 0.f : 30.f;
    std::vector<view_of_keys> sees;
    for (u32 i = 0; i < n; ++i) {
      const u32 keys = i == 0 ? 1 : 100 + 11 * i, window = i % 3 ? 20 * i : keys;
      sees.push_back({keys, keys > window ? keys - window : 0});
    }
    const u32 positions = sees.back().keys;
    head_cache<KV, Isa> whole(positions, d, 0.f);
    const auto k = random_row(u64{positions} * d, 1), v = random_row(u64{positions} * d, 2),
               q = random_row(u64{n} * d, 3, 2);
    for (u32 s = 0; s < positions; ++s) whole.store(s, &k[u64{s} * d], &v[u64{s} * d]);
    const auto alone = attend(whole, q, sees, 1, scale, cap);
    for (const u32 together : {2u, 3u, 7u, 8u, 13u, 30u}) {
      CAPTURE(together);
      CHECK(same_bits(attend(whole, q, sees, together, scale, cap), alone));
    }
    // Decoding: what lies behind the last visible position is left over from another sequence.
    for (const u32 i : {0u, 5u, 17u, 29u}) {
      head_cache<KV, Isa> fresh(positions, d, i % 2 ? 60000.f : -60000.f);
      for (u32 s = sees[i].first; s < sees[i].keys; ++s) fresh.store(s, &k[u64{s} * d], &v[u64{s} * d]);
      const std::vector<float> one(q.begin() + i * d, q.begin() + (i + 1) * d),
          expected(alone.begin() + i * d, alone.begin() + (i + 1) * d);
      CHECK(same_bits(attend(fresh, one, {sees[i]}, 1, scale, cap), expected));
    }
  });
}

TEST_CASE("attention: q8_0 is f32 on the numbers that it keeps, but for q and p in 16 bits") {
  for_each_isa([]<class Isa>() {
    CAPTURE(Isa::name);
    const u32 d = 72, keys = 400;
    head_cache<dtype::q8_0, Isa> bytes(keys, d, 9.f);
    head_cache<dtype::f32, Isa> floats(keys, d, 0.f);
    const auto k = random_row(u64{keys} * d, 1), v = random_row(u64{keys} * d, 2), q = random_row(2 * d, 3, 3);
    std::vector<float> kept_k(d), kept_v(d);
    for (u32 s = 0; s < keys; ++s) {
      bytes.store(s, &k[u64{s} * d], &v[u64{s} * d]);
      for (u32 i = 0; i < d; ++i) {
        kept_k[i] = kv_cache<dtype::q8_0, Isa>::key(bytes.blocks(), s, d, i);
        kept_v[i] = kv_cache<dtype::q8_0, Isa>::value(bytes.blocks(), s, d, i);
      }
      floats.store(s, kept_k.data(), kept_v.data());
    }
    const std::vector<view_of_keys> sees{{keys, 0}, {300, 17}};
    CHECK(distance(attend(bytes, q, sees, 2, 0.12f, 0.f), attend(floats, q, sees, 2, 0.12f, 0.f)) < 3e-4);
  });
}

TEST_CASE("attention: runs of keys made apart and joined are the whole, bit for bit") {
  for_each_cache([]<dtype KV, class Isa>() {
    CAPTURE(Isa::name);
    CAPTURE(info(KV).name);
    using kernel = head_attention<KV, Isa>;
    const u32 d = 40, keys = 3 * run_keys + 77, stride = kernel::part_floats(d);
    head_cache<KV, Isa> cache(keys, d, 0.f);
    const auto k = random_row(u64{keys} * d, 1), v = random_row(u64{keys} * d, 2), q = random_row(3 * d, 3);
    for (u32 s = 0; s < keys; ++s) cache.store(s, &k[u64{s} * d], &v[u64{s} * d]);
    const std::vector<view_of_keys> sees{{keys, 0}, {2 * run_keys, run_keys - 3}, {keys - 1, 3 * run_keys + 5}};
    const auto whole = attend(cache, q, sees, 3, 0.2f, 0.f);
    const score_options options{d, 0.2f, 0.f};
    std::vector<float> parts(4 * 3 * stride), area(kernel::workspace_bytes(d, 3) / sizeof(float)), out(3 * d);
    std::vector<attention_query> queries;
    for (u32 i = 0; i < 3; ++i) queries.push_back({&q[i * d], nullptr, sees[i].keys, sees[i].first});
    kernel::prepare(queries, options, area.data());
    for (const u32 run : {2u, 0u, 3u, 1u})
      kernel::part(queries, cache.blocks(), run, options, &parts[run * 3 * stride], area.data());
    for (u32 i = 0; i < 3; ++i) kernel::join(&parts[i * stride], 4, 3 * stride, d, &out[i * d], area.data());
    CHECK(same_bits(out, whole));
  });
}

#ifdef CKE_HAS_AVX512_FP16
TEST_CASE("attention: with bf16 caches, multiply-adds have the bits of dots of pairs") {
  const auto out = []<class Isa>(u32 together) {
    const u32 d = 40, keys = 300, queries = 30;
    head_cache<dtype::bf16, Isa> cache(keys, d, 5.f);
    const auto k = random_row(u64{keys} * d, 1), v = random_row(u64{keys} * d, 2), q = random_row(queries * d, 3, 3);
    for (u32 s = 0; s < keys; ++s) cache.store(s, &k[u64{s} * d], &v[u64{s} * d]);
    std::vector<view_of_keys> sees;
    for (u32 i = 0; i < queries; ++i) sees.push_back({keys - queries + i, i % 3 ? 0 : 17 + i});
    return attend(cache, q, sees, together, 0.12f, 0.f);
  };
  for (const u32 together : {1u, 30u})
    CHECK(same_bits(out.operator()<isa::avx512_fp16>(together), out.operator()<isa::avx512_vnni>(together)));
}
#endif

TEST_CASE("attention: great scores neither overflow nor lose the maximum; NaN stays visible") {
  for_each_cache([]<dtype KV, class Isa>() {
    CAPTURE(Isa::name);
    const u32 d = 16, keys = 300;
    head_cache<KV, Isa> cache(keys, d, 0.f);
    const std::vector<float> low(d, -30.f), high(d, 30.f), ones(d, 1.f), sevens(d, 7.f);
    for (u32 s = 0; s < keys; ++s) cache.store(s, (s == 140 ? high : low).data(), (s == 140 ? sevens : ones).data());
    // q8_0 keeps seven with an f16 scale
    const double bound = KV == dtype::q8_0 ? 1e-4 : 0;
    CHECK(distance(attend(cache, high, {{keys, 0}}, 1, 1.f, 0.f), sevens) <= bound);
    CHECK(distance(attend(cache, high, {{140, 0}}, 1, 1.f, 0.f), ones) <= bound);
    const std::vector<float> bad(d, NAN);
    CHECK(std::isnan(attend(cache, bad, {{keys, 0}}, 1, 1.f, 0.f)[0]));
  });
}

TEST_CASE("attention: weights sum to 1, rounded or not") {
  for_each_cache([]<dtype KV, class Isa>() {
    CAPTURE(Isa::name);
    CAPTURE(info(KV).name);
    const u32 d = 8, keys = 500;
    head_cache<KV, Isa> cache(keys, d, 0.f);
    const auto k = random_row(keys * d, 4), q = random_row(d, 5);
    const std::vector<float> ones(d, 1.f);
    for (u32 s = 0; s < keys; ++s) cache.store(s, &k[s * d], ones.data());
    const double bound = KV == dtype::q8_0 ? 1e-4 : 2e-6;
    CHECK(distance(attend(cache, q, {{keys, 3}}, 1, 1.f, 0.f), ones) < bound);
  });
}
