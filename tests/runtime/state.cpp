// SPDX-License-Identifier: MIT
// state.cpp: the pages of a conversation: where caches lie in them, who shares them, who may find them again.
#include "cke/runtime/state.hpp"

#include <doctest/doctest.h>

#include "mixed_model.hpp"
#include "recurrent_model.hpp"

namespace state_test {

using namespace cke;
using namespace cke::text;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

namespace {

using P = program<random_model::mixed, F32>;
constexpr u32 context = 300;

template <dtype KV, class P = state_test::P> struct tests {
  using state = random_model::state_of<P, KV, isa::native>;
  using cache = kv_cache<KV, isa::native>;

  static std::vector<state_descriptor> layers() {
    std::vector<state_descriptor> out;
    P::for_each_state(KV, [&](const state_descriptor& d) { out.push_back(d); });
    return out;
  }
  // Another number for every layer, head, position and dim; small whole numbers: q8_0 is within one of
  // them, the other types are exact.
  static float number(u32 seed, u32 layer, u32 head, u32 position, u32 i) {
    return static_cast<float>((seed * 131 + layer * 31 + head * 17 + position * 7 + i) % 251);
  }
  static kv_blocks head_of(const state& s, u32 layer, u32 head) {
    const kv_place at = state::places[layer];
    return {s.pages(at.transient), at.offset + head * at.block_bytes};
  }
  static void write(state& s, u32 seed, u32 from, u32 to) {
    CHECK(s.position() == from);
    s.reserve(to - from);
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
  // As far as it has not passed.
  static bool holds(const state& s, u32 seed, u32 from, u32 to) {
    for (const state_descriptor& d : layers())
      for (u32 h = 0; h < d.heads; ++h)
        for (u32 p = d.transient ? std::max(from, s.transient().first() * state::page_positions) : from; p < to; ++p)
          for (u32 i = 0; i < d.head_dim; ++i) {
            const kv_blocks c = head_of(s, d.id, h);
            const float want = number(seed, d.id, h, p, i), bound = KV == dtype::q8_0 ? 1.01f : 0;
            if (std::abs(cache::key(c, p, d.head_dim, i) - want) > bound) return false;
            if (std::abs(cache::value(c, p, d.head_dim, i) + want) > bound) return false;
          }
    return true;
  }

  static void places() {
    page_pools pool(state::plan, {}, 0);
    state s(pool, {.context = context});
    CHECK(s.persistent().end() == 0);
    s.reserve(context);
    CHECK(s.persistent().end() == 3);
    CHECK(s.context() == context);
    CHECK(s.position() == 0);
    CHECK(state::bytes({.context = context}) == P::state_bytes({.context = context}, KV));
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
    u64 bytes = 0;
    for (const auto& [begin, end] : areas) bytes += static_cast<u64>(end - begin);
    CHECK(bytes == state::bytes({.context = context}));
    CHECK(bytes ==
          pool.persistent.size() * pool.persistent.page_bytes() + pool.transient.size() * pool.transient.page_bytes());
  }

  static void forks() {
    page_pools pool(state::plan, {}, 0), another(state::plan, {}, 0);
    state a(pool, {.context = context});
    write(a, 1, 0, 140);
    CHECK(holds(a, 1, 0, 140));
    state b(a);
    CHECK(pool.persistent.count().held == 2);  // one set of pages for both
    CHECK(b.position() == 140);
    CHECK(holds(b, 1, 0, 140));
    write(b, 2, 140, 300);
    CHECK(b.pages()[0] == a.pages()[0]);
    CHECK(b.pages()[1] != a.pages()[1]);
    write(a, 3, 140, 200);
    CHECK(pool.persistent.count().held == 4);
    CHECK(holds(a, 3, 140, 200));
    CHECK(holds(b, 1, 0, 140));
    CHECK(holds(b, 2, 140, 300));
    b = a;  // into memory that held more
    CHECK(b.position() == 200);
    CHECK(holds(b, 1, 0, 140));
    CHECK(holds(b, 3, 140, 200));
    b = *&b;
    CHECK(holds(b, 3, 140, 200));
    CHECK(pool.persistent.count().held == 2);
    state small(another, {.context = 10});
    small = a;  // another context, of another pool
    CHECK(small.context() == context);
    CHECK(another.persistent.count().held == 0);
    CHECK(holds(small, 3, 140, 200));
    const std::byte* const place = a.pages()[0];
    const state moved = std::move(a);
    CHECK(moved.pages()[0] == place);
    CHECK(holds(moved, 1, 0, 140));
    a = moved;
    CHECK(a.pages()[0] == place);
    CHECK(holds(a, 3, 140, 200));
    write(a, 4, 200, 210);
    CHECK(holds(a, 4, 200, 210));
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

TEST_CASE("state: truncating moves back only, and gives back what nothing is left in") {
  using state = tests<dtype::f16>::state;
  page_pools pool(state::plan, {}, 0);
  state s(pool, {.context = context});
  s.reserve(0);
  CHECK(s.persistent().end() == 0);
  for (const u32 n : {50u, 30u, 48u, 1u, 171u}) s.reserve(n), s.advance(n);
  CHECK(s.position() == 300);
  CHECK(s.persistent().end() == 3);
  s.truncate(301);
  CHECK(s.position() == 300);
  s.truncate(257);
  CHECK(s.persistent().end() == 3);
  s.truncate(256);
  CHECK(s.persistent().end() == 2);
  s.truncate(7);
  CHECK(s.position() == 7);
  CHECK(pool.persistent.count().held == 1);
  s.truncate(0);
  CHECK(pool.persistent.count().held == 0);
}

TEST_CASE("state: recurrent states go back to where a page ends; in each page they take their bytes once") {
  using R = program<random_model::recurrent, F32>;
  using state = random_model::state_of<R, dtype::f16, isa::native>;
  constexpr u64 cache = 2 * 2 * 128 * 32 * 2,
                states = ((2 + 5) * 96 + 3 * (64 + 64 + 256) + 20 * 6 * 64 + 3 * 192 + 20 * 6 * 32) *
      4;  // channels and columns in 32s
  static_assert(R::recurrent && !P::recurrent);
  static_assert(states > cache && states < 2 * cache);
  static_assert(state::page_positions == 256 && tests<dtype::f16>::state::page_positions == 128);
  static_assert(random_model::state_of<R, dtype::f32, isa::native>::page_positions == 128);
  CHECK(state::bytes({.context = 256}) == 2 * cache + states);
  CHECK(R::state_bytes({.context = 512}, dtype::f16) == 2 * (2 * cache + states));
  page_pools pool(state::plan, {}, 0);
  state s(pool, {.context = 600});
  s.reserve(600), s.advance(600);
  CHECK(s.persistent().end() == 3);
  for (u32 b = 0; b < 6; ++b) CHECK(s.pages()[b] == s.pages()[b / 2 * 2] + b % 2 * cache);
  for (const auto& [to, is, held] : {std::array{601u, 600u, 3u},
                                     {600u, 600u, 3u},
                                     {599u, 512u, 2u},
                                     {512u, 512u, 2u},
                                     {511u, 256u, 1u},
                                     {255u, 0u, 0u}}) {
    s.truncate(to);
    CHECK(s.position() == is);
    CHECK(s.persistent().end() == held);
  }
  const std::vector<u32> ids = random_model::ids(600, 1000);
  {
    state a(pool, {.context = 600});
    a.reserve(511), a.advance(511);
    a.remember(ids.data());
  }
  for (const auto& [length, found] : {std::array{255u, 0u}, {256u, 256u}, {600u, 256u}}) {
    state b(pool, {.context = 600});
    b.recall(std::span(ids).first(length));
    CHECK(b.position() == found);
  }
}

TEST_CASE("state: what passes is given back, and comes back where it is remembered") {
  using w = tests<dtype::f16>;
  constexpr capacity small{.context = 2000, .chunk = 64};
  static_assert(w::state::plan.reach == 74 && w::state::plan.in_sight(64) == 3);
  const std::vector<u32> ids = random_model::ids(small.context, 1000);
  page_pools pool(w::state::plan, small, 0);
  w::state s(pool, small);
  CHECK(pool.transient.size() == 3);
  const auto go = [&](w::state& of, u32 to) {
    while (of.position() < to)
      w::write(of, 1, of.position(), std::min(to, of.position() + 64)), of.remember(ids.data());
  };
  const auto sees_all = [](const w::state& of) {
    return of.transient().first() <= w::state::first_seen(of.position()) && w::holds(of, 1, 0, of.position());
  };
  for (u32 to = 1; to < 1000; to += 37) {
    go(s, to);
    REQUIRE(s.position() == to);
    REQUIRE(sees_all(s));
    REQUIRE(s.transient().end() - s.transient().first() <= 3);
    REQUIRE(s.persistent().first() == 0);
  }
  CHECK(pool.transient.count().held == 3);
  for (const u32 by : {0u, 1u, 50u}) {  // less than a chunk: nothing is missing
    const u32 back = s.position() - by;
    s.truncate(back);
    CHECK(s.position() == back);
    CHECK(sees_all(s));
  }
  // A fork, and its pages when both go on.
  {
    w::state other(s);
    CHECK(pool.transient.size() == 6);
    CHECK(pool.transient.count().held == s.transient().end() - s.transient().first());
    go(s, 1000), go(other, 990);
    CHECK((sees_all(s) && sees_all(other)));
  }
  // Three pages more than s holds: what was in the last ones that it gave back is there.
  go(s, 1300);
  s.truncate(1000);
  CHECK(s.position() == 1000);
  CHECK(sees_all(s));
  w::state again(pool, small);
  again.recall(std::span(ids).first(1100));
  CHECK(again.position() == 1024);
  CHECK(sees_all(again));
  s.truncate(500);  // long gone: all is to be computed again
  CHECK(s.position() == 0);
  CHECK((s.transient().end() == 0 && s.persistent().end() == 0));
  CHECK(pool.transient.count().held == 1);
  again.truncate(0);
  again.recall(std::span(ids).first(600));  // there is what lasts, and not what passes
  CHECK(again.position() == 0);
  CHECK((pool.persistent.count().held == 0 && pool.transient.count().held == 0));
}

TEST_CASE("state: where pages run out, reserving is an error and truncating gives back what it had taken") {
  using state = tests<dtype::f16>::state;
  page_pools pool(state::plan, {}, 3 * key_block);
  state a(pool, {.context = context}), b(pool, {.context = context});
  tests<dtype::f16>::write(a, 1, 0, 140);
  const auto failed = random_model::failure_of([&] { b.reserve(200); });
  CHECK(failed.code == errc::cache_full);
  CHECK(failed.text == "cache: expected a free page of 128 positions, found all 3 in use");
  b.truncate(b.position());
  CHECK(pool.persistent.count().held == 2);
  state c(a);
  tests<dtype::f16>::write(c, 2, 140, 150);  // the last page, for its own copy
  CHECK(random_model::failure_of([&] { b.reserve(1); }).code == errc::cache_full);
  c = b;
  tests<dtype::f16>::write(a, 3, 140, 256);  // nobody shares it any more: no copy
  CHECK(pool.persistent.count().held == 2);
  CHECK(tests<dtype::f16>::holds(a, 1, 0, 140));
  CHECK(tests<dtype::f16>::holds(a, 3, 140, 256));
}

TEST_CASE("state: pages that are full are found by their ids, while they are held and until they are taken") {
  using all = tests<dtype::f16, program<random_model::tiny, F32>>;  // nothing passes
  using state = all::state;
  page_pools pool(state::plan, {}, 4 * key_block);
  const std::vector<u32> ids = random_model::ids(context, 1000), others = random_model::ids(context, 1000, 8);
  std::vector<u32> branch(ids);
  branch[130] += 1;
  const auto recalled = [&](std::span<const u32> some) {
    state s(pool, {.context = context});
    s.recall(some);
    CHECK(s.position() == s.persistent().end() * key_block);
    return s.position();
  };
  {
    state a(pool, {.context = context});
    all::write(a, 1, 0, 127);
    a.remember(ids.data());
    CHECK(recalled(ids) == 0);
    all::write(a, 1, 127, 290);
    a.remember(ids.data());
    CHECK(recalled(ids) == 256);
    CHECK(recalled(std::span(ids).first(255)) == 128);
    CHECK(recalled(branch) == 128);
    CHECK(recalled(others) == 0);
    CHECK(recalled(std::span(ids).subspan(128)) == 0);  // the same ids after others
    state b(pool, {.context = context});
    b.recall(ids);
    CHECK(all::holds(b, 1, 0, 256));
    CHECK(b.pages()[1] == a.pages()[1]);
    CHECK(pool.persistent.count().held == 3);
    // Who goes back into a page that others have too writes to a copy of it, and finds it again.
    b.truncate(140);
    all::write(b, 2, 140, 256);
    CHECK(all::holds(a, 1, 0, 256));
    b.remember(branch.data());
    CHECK(recalled(branch) == 256);
    b.truncate(140);
    all::write(b, 1, 140, 256);
    b.remember(ids.data());
    CHECK(b.pages()[1] == a.pages()[1]);
    CHECK(pool.persistent.count().held == 3);
  }
  CHECK(pool.persistent.count().held == 0);
  CHECK(recalled(ids) == 256);
  {
    state c(pool,
            {.context = context});  // takes the page without a memory, the one that was never used, then the oldest
    all::write(c, 3, 0, 256);
    CHECK(recalled(ids) == 256);
    all::write(c, 3, 256, 290);
    CHECK(recalled(ids) == 128);
  }
  state alone(pool, {.context = context});
  alone.recall(ids);
  alone.truncate(100);
  all::write(alone, 4, 100, 101);  // its only holder: the page changes, and is forgotten
  CHECK(recalled(ids) == 0);
}

}  // namespace state_test
