// SPDX-License-Identifier: MIT
// state.cpp: the caches of a conversation: where they lie, and that copies are apart from each other.
#include "cke/runtime/state.hpp"

#include <doctest/doctest.h>

#include "mixed_model.hpp"

using namespace cke;

namespace {

using P = program<random_model::mixed, F32>;
constexpr u32 context = 300;

template <dtype KV> struct tests {
  using state = slot_state<P, KV, isa::native>;
  using cache = kv_cache<KV, isa::native>;

  static std::vector<state_descriptor> layers() {
    std::vector<state_descriptor> out;
    P::for_each_state(context, KV, [&](const state_descriptor& d) { out.push_back(d); });
    return out;
  }
  // Another number for every layer, head, position and dim; small whole numbers: q8_0 is within one of
  // them, the other types are exact.
  static float number(u32 seed, u32 layer, u32 head, u32 position, u32 i) {
    return static_cast<float>((seed * 131 + layer * 31 + head * 17 + position * 7 + i) % 251);
  }
  static kv_blocks head_of(const state& s, u32 layer, u32 head) {
    const kv_place at = state::places()[layer];
    return {s.pages(), at.offset + head * at.block_bytes};
  }
  static void write(state& s, u32 seed, u32 from, u32 to) {
    std::vector<float> k, v;
    for (const state_descriptor& d : layers())
      for (u32 h = 0; h < d.heads; ++h)
        for (u32 p = from; p < to; ++p) {
          k.clear(), v.clear();
          for (u32 i = 0; i < d.head_dim; ++i) k.push_back(number(seed, d.id, h, p, i)), v.push_back(-k.back());
          cache::store(head_of(s, d.id, h), p, d.head_dim, k.data(), v.data());
        }
    s.advance(to - s.position());
  }
  static bool holds(const state& s, u32 seed, u32 from, u32 to) {
    for (const state_descriptor& d : layers())
      for (u32 h = 0; h < d.heads; ++h)
        for (u32 p = from; p < to; ++p)
          for (u32 i = 0; i < d.head_dim; ++i) {
            const kv_blocks c = head_of(s, d.id, h);
            const float want = number(seed, d.id, h, p, i), bound = KV == dtype::q8_0 ? 1.01f : 0;
            if (std::abs(cache::key(c, p, d.head_dim, i) - want) > bound) return false;
            if (std::abs(cache::value(c, p, d.head_dim, i) + want) > bound) return false;
          }
    return true;
  }

  static void places() {
    state s(context);
    CHECK(s.context() == context);
    CHECK(s.position() == 0);
    CHECK(state::bytes(context) == P::state_bytes(context, KV));
    const auto all = layers();
    CHECK(all.size() == 3);
    std::vector<std::pair<const std::byte*, const std::byte*>> areas;
    for (const state_descriptor& d : all)
      for (u32 h = 0; h < d.heads; ++h)
        for (u32 b = 0; b < ceil_div(context, key_block); ++b) {
          const std::byte* const block = head_of(s, d.id, h)[b];
          areas.emplace_back(block, block + cache::block_bytes(d.head_dim));
          CHECK(reinterpret_cast<std::uintptr_t>(block) % 64 == 0);
        }
    std::ranges::sort(areas);
    for (std::size_t i = 1; i < areas.size(); ++i) CHECK(areas[i - 1].second <= areas[i].first);
    CHECK(static_cast<u64>(areas.back().second - areas.front().first) <= state::bytes(context));
  }

  static void forks() {
    state a(context);
    write(a, 1, 0, 140);
    CHECK(holds(a, 1, 0, 140));
    state b(a);
    CHECK(b.position() == 140);
    CHECK(holds(b, 1, 0, 140));
    write(b, 2, 140, 300);
    write(a, 3, 140, 200);
    CHECK(holds(a, 3, 140, 200));
    CHECK(holds(b, 1, 0, 140));
    CHECK(holds(b, 2, 140, 300));
    b = a;  // into memory that held more
    CHECK(b.position() == 200);
    CHECK(holds(b, 1, 0, 140));
    CHECK(holds(b, 3, 140, 200));
    b = *&b;
    CHECK(holds(b, 3, 140, 200));
    state small(10);
    small = a;  // another context: another memory
    CHECK(small.context() == context);
    CHECK(holds(small, 3, 140, 200));
    const std::byte* const place = a.pages()[0];
    const state moved = std::move(a);
    CHECK(moved.pages()[0] == place);
    CHECK(holds(moved, 1, 0, 140));
  }
};

}  // namespace

TEST_CASE("state: heads of all layers lie apart, at multiples of 64 bytes, in the bytes that were planned") {
  tests<dtype::f32>::places();
  tests<dtype::f16>::places();
  tests<dtype::bf16>::places();
  tests<dtype::q8_0>::places();
}

TEST_CASE("state: a copy holds what was there, and goes its own way") {
  tests<dtype::f32>::forks();
  tests<dtype::f16>::forks();
  tests<dtype::bf16>::forks();
  tests<dtype::q8_0>::forks();
}

TEST_CASE("state: truncating moves back only") {
  slot_state<P, dtype::f16, isa::native> s(context);
  s.advance(50);
  s.advance(30);
  CHECK(s.position() == 80);
  s.truncate(100);
  CHECK(s.position() == 80);
  s.truncate(7);
  CHECK(s.position() == 7);
}
