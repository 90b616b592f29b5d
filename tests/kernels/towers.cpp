// SPDX-License-Identifier: MIT
// towers.cpp: the steps of vision towers against sums in double, and the places of patches against torch's numbers.
#include "cke/kernels/towers.hpp"

#include "cke/kernels/attention/attention_steps.hpp"
#include "cke/runtime/table_places.hpp"
#include "numbers.hpp"

using namespace cke;
using namespace cke::kernels;
using namespace cke::runtime;
using namespace numbers;

namespace {

// Rows of floats, as a step sees them.
view rows_of(std::vector<float>& x, u32 width) {
  return {reinterpret_cast<std::byte*>(x.data()), width, width, dtype::f32};
}
template <opcode Op, class Isa>
std::vector<float> run(const params_of<Op>& p, work w, std::vector<float> x, u32 in, u32 out, u32 tokens) {
  std::vector<float> y(u64{out} * tokens, std::nanf(""));
  w.tokens = tokens, w.by = split::tokens, w.in[0] = rows_of(x, in), w.out[0] = rows_of(y, out);
  for (u32 u = ceil_div(tokens, unit_tokens); u-- > 0;) kernel<Op, dtype::f32, Isa>::run(p, w, u);
  return y;
}

}  // namespace

TEST_CASE("layer_norm: rows of any length have mean 0 and variance 1, times a weight, plus a bias") {
  for_each_isa([]<class Isa>() {
    CAPTURE(Isa::name);
    for (const u32 n : {1u, 2u, 15u, 16u, 17u, 63u, 64u, 65u, 200u, 1152u})
      for (const double offset : {0.0, 50.0}) {
        CAPTURE(n);
        CAPTURE(offset);
        auto x = random_row(n, n, 3);
        for (float& v : x) v += static_cast<float>(offset);
        const auto w = random_row(n, n + 1), b = random_row(n, n + 2);
        double mean = 0, squares = 0;
        for (const float v : x) mean += double{v} / n;
        for (const float v : x) squares += (v - mean) * (v - mean) / n;
        std::vector<float> want(n), out(n);
        for (u32 i = 0; i < n; ++i)
          want[i] = static_cast<float>((x[i] - mean) / std::sqrt(squares + double{1e-5f}) * w[i] + b[i]);
        layer_norm_kernel<Isa>::row(x.data(), w.data(), b.data(), n, 1e-5f, out.data());
        CHECK(distance(out, want) < (offset > 0 ? 4e-5 : 2e-6));  // the sum of 50s is rounded
        layer_norm_kernel<Isa>::row(x.data(), w.data(), b.data(), n, 1e-5f, x.data());
        CHECK(same_bits(x, out));
      }
  });
}

TEST_CASE("learned_positions: rows of the table are added in their order, each with its weight") {
  for_each_isa([]<class Isa>() {
    CAPTURE(Isa::name);
    const std::vector<float> table{1, 10, 2, 20, 3, 30};
    const std::vector<u32> index{0, 2, 1, 1};
    const std::vector<float> weight{1, 0.5, 0.25, 0};
    work w;
    w.weight[0] = reinterpret_cast<const std::byte*>(table.data());
    w.positions = {index.data(), weight.data(), 2};
    CHECK(run<opcode::learned_positions, Isa>({.rows = 3, .cols = 2}, w, {100, 200, 300, 400}, 2, 2, 2) ==
          std::vector<float>{102.5, 225, 300.5, 405});
  });
}

TEST_CASE("spatial_merge and average_pool: neighbouring rows become one") {
  for_each_isa([]<class Isa>() {
    CAPTURE(Isa::name);
    const std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8, 10, 20, 30, 40, 50, 60, 70, 80};
    CHECK(run<opcode::spatial_merge, Isa>({.cols = 2, .by = 4}, work{}, x, 2, 8, 2) == x);
    CHECK(run<opcode::average_pool, Isa>({.cols = 2, .by = 4}, work{}, x, 2, 2, 2) == std::vector<float>{4, 5, 40, 50});
    CHECK(run<opcode::last_row, Isa>({.cols = 2, .by = 4}, work{}, x, 2, 2, 2) ==
          std::vector<float>{x[6], x[7], x[14], x[15]});
    CHECK(run<opcode::spatial_merge, Isa>({.cols = 2, .by = 4, .interleaved = true}, work{}, x, 2, 8, 2) ==
          std::vector<float>{1, 3, 5, 7, 2, 4, 6, 8, 10, 30, 50, 70, 20, 40, 60, 80});
  });
}

TEST_CASE("attention_pool: each head's shares of the rows add up to one, and follow the keys") {
  for_each_isa([]<class Isa>() {
    CAPTURE(Isa::name);
    // two heads of one number; the first key of head 0 is far ahead, the keys of head 1 are alike
    const std::vector<float> k{60, 1, 0, 1, 0, 1}, v{5, 1, 7, 2, 9, 6}, probe{1, -2};
    std::vector<float> got(2);
    work w;
    w.tokens = 1;
    float scratch[3];
    w.scratch = reinterpret_cast<std::byte*>(scratch);
    w.weight[0] = reinterpret_cast<const std::byte*>(probe.data());
    std::vector<float> q(2);
    w.out[0] = {reinterpret_cast<std::byte*>(q.data()), 2, 2, dtype::f32};
    kernel<opcode::learned_row, dtype::f32, Isa>::run({2}, w, 0);
    CHECK(q == probe);
    const auto rows = [](const std::vector<float>& of) {
      return view{reinterpret_cast<std::byte*>(const_cast<float*>(of.data())), 2, 2, dtype::f32};
    };
    w.in[0] = rows(q), w.in[1] = rows(k), w.in[2] = rows(v), w.out[0] = rows(got);
    kernel<opcode::attention_pool, dtype::f32, Isa>::run({.heads = 2, .head_dim = 1, .by = 3}, w, 0);
    CHECK(got[0] == 5);
    CHECK(got[1] == doctest::Approx(3));
  });
}

TEST_CASE("affine, standardise and clamp: each number by itself") {
  for_each_isa([]<class Isa>() {
    CAPTURE(Isa::name);
    const std::vector<float> x{-2, 0, 0.5, 3}, first{1, 0.25}, second{-4, 2}, low{-1}, high{2.5};
    work w;
    CHECK(run<opcode::affine, Isa>({.cols = 2, .by = 2, .offset = -1}, w, x, 2, 2, 2) ==
          std::vector<float>{-5, -1, 0, 5});
    w.weight[0] = reinterpret_cast<const std::byte*>(first.data());
    w.weight[1] = reinterpret_cast<const std::byte*>(second.data());
    CHECK(run<opcode::standardise, Isa>({2}, w, x, 2, 2, 2) == std::vector<float>{12, -0.5, 2, 5.5});
    w.weight[0] = reinterpret_cast<const std::byte*>(low.data());
    w.weight[1] = reinterpret_cast<const std::byte*>(high.data());
    CHECK(run<opcode::clamp, Isa>({2}, w, x, 2, 2, 2) == std::vector<float>{-1, 0, 0.5, 2.5});
    CHECK(std::isnan(run<opcode::clamp, Isa>({1}, w, {std::nanf("")}, 1, 1, 1)[0]));
  });
}

TEST_CASE("patches: squares are neighbours, in raster order outside and inside") {
  // a grid of 4 x 6 in squares of 2
  const u32 want[][2]{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3},
                      {0, 4}, {0, 5}, {1, 4}, {1, 5}, {2, 0}, {2, 1}, {3, 0}, {3, 1}};
  for (u32 r = 0; r < std::size(want); ++r) {
    CAPTURE(r);
    CHECK(patch_order{2}.place_of({4, 6}, r).y == want[r][0]);
    CHECK(patch_order{2}.place_of({4, 6}, r).x == want[r][1]);
  }
  for (u32 r = 0; r < 35; ++r) {
    CHECK(patch_order{}.place_of({5, 7}, r).y == r / 7);
    CHECK(patch_order{}.place_of({5, 7}, r).x == r % 7);
  }
}

TEST_CASE("patches: windows are runs of rows, smaller ones to the right and at the bottom") {
  // a grid of 6 x 10 in windows of 4 and squares of 2: four rows of windows' bands of 4, then 2
  constexpr patch_order order{2, 4};
  constexpr patch_grid g{6, 10};
  const u32 sizes[]{16, 16, 8, 8, 8, 4};
  std::vector<u32> seen(g.patches());
  u32 row = 0;
  for (const u32 size : sizes) {
    const auto window = order.window_of(g, row);
    CHECK(window.first == row);
    CHECK(window.size.patches() == size);
    for (const u32 end = row + size; row < end; ++row) {
      CAPTURE(row);
      const patch_place at = order.place_of(g, row);
      CHECK(order.window_of(g, row).first == window.first);
      CHECK(at.y / 4 == window.from.y / 4);
      CHECK(at.x / 4 == window.from.x / 4);
      ++seen[at.y * g.width + at.x];
      const patch_place first = order.place_of(g, row / 4 * 4);  // four rows are a square
      CHECK(at.y == first.y + row % 4 / 2);
      CHECK(at.x == first.x + row % 2);
      CHECK(patch_order{2}.place_of(g, order.number_of(g, at)).y == at.y);
      CHECK(patch_order{2}.place_of(g, order.number_of(g, at)).x == at.x);
    }
  }
  CHECK(row == g.patches());
  CHECK(std::ranges::all_of(seen, [](u32 n) { return n == 1; }));
}

TEST_CASE("positions: each rule takes the rows of the table that transformers takes") {
  const auto taken = [](positions_params p, patch_grid g, patch_place at) {
    table_places places;
    const table_rows all = places.of(p, g, {});
    std::vector<std::pair<u32, float>> out;
    const u32 row = at.y * g.width + at.x;
    for (u32 k = row * all.count; k < (row + 1) * all.count; ++k) out.emplace_back(all.index[k], all.weight[k]);
    return out;
  };
  using taps = std::vector<std::pair<u32, float>>;
  CHECK(taken({.rows = 25, .rule = position_rule::raster}, {5, 5}, {3, 1}) == taps{{16, 1.f}});
  CHECK(taken({.rows = 40, .rule = position_rule::by_axis}, {9, 7}, {8, 2}) == taps{{2, 1.f}, {28, 1.f}});
  // 5 positions a side; of 3 rows the middle one is position 2; of 4 columns number 1 is position 4 / 3
  const taps between = taken({.rows = 25, .rule = position_rule::bilinear}, {3, 4}, {1, 1});
  const u32 rows[]{11, 12, 16, 17};
  const double weights[]{2. / 3, 1. / 3, 0, 0};
  for (u32 i = 0; i < 4; ++i) {
    CHECK(between[i].first == rows[i]);
    CHECK(double{between[i].second} == doctest::Approx(weights[i]).epsilon(1e-6));
  }
  // the corners of the grid are those of the table, where nothing lies beyond
  CHECK(taken({.rows = 25, .rule = position_rule::bilinear}, {3, 4}, {2, 3}) ==
        taps{{24, 1.f}, {24, 0.f}, {24, 0.f}, {24, 0.f}});
  // a single row is the first one
  CHECK(taken({.rows = 25, .rule = position_rule::bilinear}, {1, 1}, {0, 0}) ==
        taps{{0, 1.f}, {1, 0.f}, {5, 0.f}, {6, 0.f}});
}

TEST_CASE("attention: every row of an image sees all of it, and nothing before or after it") {
  for_each_isa([]<class Isa>() {
    CAPTURE(Isa::name);
    // an image of rows 90 to 149 in a cache of 170 rows: two blocks of keys
    constexpr u32 all = 170, position = 90, tokens = 60, d = 10, heads = 4, kv_heads = 2;
    const attention_params p{.shape = {heads, kv_heads, d}, .bidirectional = true};
    auto q = random_row(tokens * heads * d, 1);
    const auto k = random_row(all * kv_heads * d, 2), v = random_row(all * kv_heads * d, 3);
    using cache = kv_cache<dtype::f32, Isa>;
    const u64 block = cache::block_bytes(d);
    std::vector<float> memory(ceil_div(all, key_block) * kv_heads * block / sizeof(float));
    std::vector<std::byte*> pages;
    for (u32 b = 0; b < ceil_div(all, key_block); ++b)
      pages.push_back(reinterpret_cast<std::byte*>(memory.data()) + b * kv_heads * block);
    for (u32 s = 0; s < all; ++s)
      for (u32 h = 0; h < kv_heads; ++h)
        cache::store({pages.data(), h * block}, s, d, &k[(s * kv_heads + h) * d], &v[(s * kv_heads + h) * d]);
    std::vector<float> want(tokens * heads * d), out(want.size());
    for (u32 t = 0; t < tokens; ++t)
      for (u32 h = 0; h < heads; ++h) {
        std::vector<double> weight(all), sum(d);
        double total = 0;
        for (u32 s = position; s < position + tokens; ++s) {
          double dot = 0;
          for (u32 i = 0; i < d; ++i)
            dot += double{q[(t * heads + h) * d + i]} * double{k[(s * kv_heads + h / 2) * d + i]};
          total += weight[s] = std::exp(dot / std::sqrt(double{d}));
        }
        for (u32 s = position; s < position + tokens; ++s)
          for (u32 i = 0; i < d; ++i) sum[i] += weight[s] / total * double{v[(s * kv_heads + h / 2) * d + i]};
        for (u32 i = 0; i < d; ++i) want[(t * heads + h) * d + i] = static_cast<float>(sum[i]);
      }
    work w;
    const segment one{0, tokens, position, {pages.data()}};
    const std::vector<u32> of(tokens, 0), tiles{0, 16, 32, 48};
    std::vector<std::byte> scratch(kernel<opcode::attend, dtype::f32, Isa>::scratch_bytes(p, tokens) + 64);
    w.scratch = scratch.data() + (64 - reinterpret_cast<std::uintptr_t>(scratch.data()) % 64);
    w.tokens = tokens, w.segments = {&one, 1}, w.segment_of = of.data(), w.tiles = tiles;
    w.kv = {0, block, 1, false}, w.in[0] = rows_of(q, heads * d), w.out[0] = rows_of(out, heads * d);
    w.by = split::tiles;
    const u32 units = units_of(params(p), w.by, tokens, 0, static_cast<u32>(tiles.size()));
    for (u32 u = 0; u < units; ++u) kernel<opcode::attend, dtype::f32, Isa>::run(p, w, u);
    CHECK(distance(out, want, heads * d) < 4e-6);
    std::ranges::fill(out, 0.f);
    w.by = split::kv_heads;
    for (u32 u = 0; u < kv_heads; ++u) kernel<opcode::attend, dtype::f32, Isa>::run(p, w, u);
    CHECK(distance(out, want, heads * d) < 4e-6);
  });
}

TEST_CASE("attention: nothing is written behind the scratch of a pass, however few its tokens are") {
  for_each_isa([]<class Isa>() {
    CAPTURE(Isa::name);
    constexpr u32 d = 40, guard = 1 << 16;
    using cache = kv_cache<dtype::f32, Isa>;
    for (const u32 heads : {1u, 3u, 8u, 130u})  // all on one head of keys
      for (const u32 tokens : {1u, 2u, 19u, 150u}) {
        CAPTURE(heads);
        CAPTURE(tokens);
        const attention_params p{.shape = {heads, 1, d}};
        auto q = random_row(tokens * heads * d, 1);
        const auto k = random_row(tokens * d, 2), v = random_row(tokens * d, 3);
        std::vector<float> memory(2 * cache::block_bytes(d) / sizeof(float)), out(q.size());
        std::byte* const begin = reinterpret_cast<std::byte*>(memory.data());
        std::byte* pages[]{begin, begin + cache::block_bytes(d)};
        for (u32 s = 0; s < tokens; ++s) cache::store({pages, 0}, s, d, &k[s * d], &v[s * d]);
        const u64 bytes = kernel<opcode::attend, dtype::f32, Isa>::scratch_bytes(p, tokens);
        std::vector<std::byte> scratch(bytes + 64 + guard, std::byte{0xa5});
        work w;
        w.scratch = scratch.data() + (64 - reinterpret_cast<std::uintptr_t>(scratch.data()) % 64);
        const segment one{0, tokens, 0, {pages}};
        const std::vector<u32> of(tokens, 0);
        std::vector<u32> tiles;
        for (u32 t = 0; t < tokens; t += unit_tokens) tiles.push_back(t);
        w.tokens = tokens, w.segments = {&one, 1}, w.segment_of = of.data(), w.tiles = tiles;
        w.kv = {0, cache::block_bytes(d)}, w.in[0] = rows_of(q, heads * d), w.out[0] = rows_of(out, heads * d);
        for (const split by : {split::tiles, split::kv_heads}) {
          w.by = by;
          for (u32 u = 0; u < units_of(params(p), by, tokens, 0, static_cast<u32>(tiles.size())); ++u)
            kernel<opcode::attend, dtype::f32, Isa>::run(p, w, u);
        }
        const auto behind = std::span(scratch).subspan(static_cast<std::size_t>(w.scratch - scratch.data()) + bytes);
        CHECK(std::ranges::all_of(behind, [](std::byte b) { return b == std::byte{0xa5}; }));
      }
  });
}

TEST_CASE_TEMPLATE_DEFINE("attention: rows have the same bits, however many tiles a unit takes", KV, many_tiles) {
  for_each_isa([]<class Isa>() {
    CAPTURE(Isa::name);
    constexpr dtype kv = KV::value;
    constexpr u32 heads = 40, kv_heads = 20, d = 24, tokens = 175, longest = 256;
    const attention_params p{.shape = {heads, kv_heads, d}};
    auto q = random_row(tokens * heads * d, 1);
    const auto k = random_row(longest * kv_heads * d, 2), v = random_row(longest * kv_heads * d, 3);
    const u64 block = kv_cache<kv, Isa>::block_bytes(d);
    std::vector<std::byte> memory(longest / key_block * kv_heads * block + 64);
    std::byte* const begin = memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64);
    std::byte* pages[]{begin, begin + kv_heads * block};
    for (u32 s = 0; s < longest; ++s)
      for (u32 h = 0; h < kv_heads; ++h)
        kv_cache<kv, Isa>::store({pages, h * block}, s, d, &k[(s * kv_heads + h) * d], &v[(s * kv_heads + h) * d]);
    // Three sequences over the same keys, each from another position; the second has one short tile.
    const segment parts[]{{0, 100, 30, {pages}}, {100, 5, 0, {pages}}, {105, 70, 128, {pages}}};
    std::vector<u32> of, tiles;
    for (u32 s = 0; s < 3; ++s)
      for (u32 t = 0; t < parts[s].tokens; ++t) {
        if (t % unit_tokens == 0) tiles.push_back(parts[s].first + t);
        of.push_back(s);
      }
    const auto count = static_cast<u32>(tiles.size());
    CHECK(tiles_of_unit(p, count) == 4);
    std::vector<std::byte> scratch(kernel<opcode::attend, kv, Isa>::scratch_bytes(p, tokens) + 64);
    work w;
    w.scratch = scratch.data() + (64 - reinterpret_cast<std::uintptr_t>(scratch.data()) % 64);
    w.tokens = tokens, w.segments = parts, w.segment_of = of.data(), w.tiles = tiles, w.kv = {0, block};
    const auto attend = [&](split by) {
      std::vector<float> out(q.size(), std::nanf(""));
      w.in[0] = rows_of(q, heads * d), w.out[0] = rows_of(out, heads * d), w.by = by;
      for (u32 u = 0; u < units_of(params(p), by, tokens, 0, count); ++u) kernel<opcode::attend, kv, Isa>::run(p, w, u);
      return out;
    };
    CHECK(attend(split::tiles) == attend(split::kv_heads));
  });
}
template <dtype KV> using cache_of = std::integral_constant<dtype, KV>;
TEST_CASE_TEMPLATE_INVOKE(many_tiles, cache_of<dtype::f32>, cache_of<dtype::bf16>, cache_of<dtype::q8_0>);
