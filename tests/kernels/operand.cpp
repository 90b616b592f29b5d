// SPDX-License-Identifier: MIT
// operand.cpp: activations as tiles: cut, rounded, padded, written in parts.
#include "cke/kernels/operand.hpp"

#include "numbers.hpp"

using namespace cke;
using namespace cke::kernels;
using namespace numbers;

static_assert(tile_at(29, 15, 16).first == 0 && tile_at(29, 15, 16).count == 16);
static_assert(tile_at(29, 16, 16).first == 16 && tile_at(29, 16, 16).count == 8);
static_assert(tile_at(29, 27, 16).first == 24 && tile_at(29, 27, 16).count == 4);
static_assert(tile_at(29, 28, 16).first == 28 && tile_at(29, 28, 16).count == 1);
static_assert(tile_at(1, 0, 16).count == 1 && tile_at(32, 31, 16).first == 16);

namespace {

template <class F> void for_each_operand(F&& f) {
  for_each_isa([&]<class Isa>() {
    f.template operator()<dtype::f32, Isa>();
    f.template operator()<dtype::bf16, Isa>();
    f.template operator()<dtype::q8_0, Isa>();
  });
}

// n tokens written into memory that was full of NaN; each row in parts that end at `cuts`.
template <dtype A, class Isa>
std::vector<std::byte> put_all(const std::vector<float>& x, u32 n, u32 cols, std::vector<u32> cuts) {
  std::vector<std::byte> tiles(operand<A, Isa>::bytes(n, cols), std::byte{0xff});
  cuts.push_back(cols);
  for (u32 t = n; t-- > 0;)
    for (std::size_t i = cuts.size(); i-- > 0;) {
      const u32 from = i ? cuts[i - 1] : 0;
      operand<A, Isa>::put(tiles.data(), n, cols, t, from, cuts[i] - from, &x[u64{t} * cols + from]);
    }
  return tiles;
}

template <dtype A, class Isa>
float get(const std::vector<std::byte>& tiles, u32 n, u32 cols, u32 t, u32 col) {
  using o = operand<A, Isa>;
  const token_tile tile = tile_at(n, t, o::max_tile);
  return o::get(tiles.data() + tile.first * o::token_bytes(cols), o::token_bytes(cols), tile.count, t - tile.first,
                col);
}

}  // namespace

TEST_CASE("operand: tiles cover the tokens once, in falling powers of two") {
  for (const u32 max : {4u, 8u, 16u})
    for (u32 n = 1; n < 70; ++n)
      for (u32 t = 0, last = max; t < n;) {
        const token_tile tile = tile_at(n, t, max);
        REQUIRE(tile.first == t);
        REQUIRE(tile.count <= last);
        REQUIRE(std::has_single_bit(tile.count));
        for (u32 i = t; i < t + tile.count; ++i) REQUIRE(tile_at(n, i, max).first == t);
        last = tile.count;
        t += tile.count;
        REQUIRE(t <= n);
      }
}

TEST_CASE("operand: parts of a row give the bytes of the whole, padding is zero") {
  for_each_operand([]<dtype A, class Isa>() {
    CAPTURE(Isa::name);
    CAPTURE(info(A).name);
    for (const u32 n : {1u, 2u, 5u, 19u})
      for (const u32 cols : {1u, 25u, 64u, 96u}) {
        if (cols % operand<A, Isa>::align && A == dtype::q8_0) continue;
        const auto x = random_row(u64{n} * cols, n + cols);
        const auto whole = put_all<A, Isa>(x, n, cols, {});
        CHECK(whole == put_all<A, Isa>(x, n, cols, cols > 32 ? std::vector<u32>{32} : std::vector<u32>{}));
        for (u32 t = 0; t < n; ++t)
          for (u32 col = 0; col < cols; ++col) {
            const float want = x[u64{t} * cols + col], got = get<A, Isa>(whole, n, cols, t, col);
            if (A == dtype::f32) REQUIRE(got == want);
            if (A == dtype::bf16) REQUIRE(got == from_bf16(to_bf16(want)));
          }
        if (A == dtype::bf16)
          for (u32 t = 0; t < n; ++t)
            for (u32 col = cols; col < align_up(cols, 8); ++col) REQUIRE(get<A, Isa>(whole, n, cols, t, col) == 0);
      }
  });
}

TEST_CASE("operand: q8_0 blocks are as documented, the same on every isa") {
  constexpr u32 cols = 96;
  for (const u32 n : {1u, 4u}) {
    auto x = random_row(n * cols, 9);
    std::fill_n(x.data() + 32, 32, 0.f);
    for (u32 i = 64; i < 96; ++i) x[i] *= 1e-42f;  // subnormal: rounded to zeros, not to NaN
    for_each_isa([&]<class Isa>() {
      CAPTURE(Isa::name);
      const auto tiles = put_all<dtype::q8_0, Isa>(x, n, cols, {32});
      for (u32 t = 0; t < n; ++t)
        for (u32 b = 0; b < cols / 32; ++b) {
          const float* v = &x[t * cols + b * 32];
          const std::byte* block = tiles.data() + b * 48 * n;
          float amax = 0;
          for (u32 i = 0; i < 32; ++i) amax = std::max(amax, std::abs(v[i]));
          const bool tiny = amax < 1e-30f;
          int halves[2]{};
          for (u32 i = 0; i < 32; ++i) {
            const int q = read<i8>(block + 32 * t + i);
            CHECK(q == (tiny ? 0 : std::lrint(v[i] * (127.f / amax))));
            halves[i / 16] += q;
          }
          CHECK(read<float>(block + 32 * n + 4 * t) == amax / 127.f);
          CHECK(read<i32>(block + 36 * n + 4 * t) == -128 * (halves[0] + halves[1]));
          for (u32 h = 0; h < 2; ++h) CHECK(read<i32>(block + (40 + 4 * h) * n + 4 * t) == -32 * halves[h]);
        }
    });
  }
}

TEST_CASE("operand: NaN and infinity reach the scale") {
  for_each_isa([]<class Isa>() {
    for (const float odd : {NAN, HUGE_VALF, -HUGE_VALF}) {
      auto x = random_row(32, 4);
      x[17] = odd;
      const auto tiles = put_all<dtype::q8_0, Isa>(x, 1, 32, {});
      CHECK(!std::isfinite(read<float>(tiles.data() + 32)));
    }
  });
}
