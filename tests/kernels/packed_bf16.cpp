// SPDX-License-Identifier: MIT
// packed_bf16.cpp: weights in 12 bits are the file's bits, and products are those of 16 bits.
#include "cke/kernels/formats/packed_bf16.hpp"

#include "cke/kernels/matmul.hpp"
#include "numbers.hpp"

using namespace cke;
using namespace cke::kernels;
using namespace numbers;

namespace {

// Every isa that packs: not the oracle.
template <class F> void for_each_packing(F&& f) {
  for_each_isa([&]<class Isa>() {
    CAPTURE(Isa::name);
    if constexpr (!simd::is_scalar<Isa>) f.template operator()<Isa>();
  });
}

// [rows][cols]
struct bit_patterns {
  u32 rows, cols;
  std::vector<u16> bits;

  template <class F>
  bit_patterns(u32 r, u32 c, F&& pattern) : rows(r), cols(c), bits(u64{r} * c) {
    for (u64 i = 0; i < bits.size(); ++i) bits[i] = pattern(i);
  }
  static bit_patterns normal(u32 rows, u32 cols, u32 seed, float spread = 0.02f) {
    const auto x = random_row(u64{rows} * cols, seed, spread);
    return {rows, cols, [&](u64 i) { return to_bf16(x[i]); }};
  }
  static bit_patterns random(u32 rows, u32 cols, u32 seed) {
    std::mt19937 any(seed);
    return {rows, cols, [&](u64) { return static_cast<u16>(any()); }};
  }
  u16& at(u32 row, u32 col) { return bits[u64{row} * cols + col]; }
  u16 at(u32 row, u32 col) const { return bits[u64{row} * cols + col]; }
};

// What decides about speed and size: a block is small where it can be.
template <class Isa> struct twelve {
  using packing = packed<dtype::bf16, Isa>;
  const bit_patterns& from;
  std::vector<cache_line> memory;
  u64 bytes{};

  explicit twelve(const bit_patterns& m) : from(m), memory(packing::bytes(units(), m.cols) / 64) {
    std::memset(memory.data(), 0xff, memory.size() * 64);
    bytes = packing::pack(data_of(memory), units(), m.cols, [&](auto&& pack_unit) {
      for (u32 u = units(); u-- > 0;) {  // in any order
        std::vector<const std::byte*> rows;
        for (u32 r = u * unit_rows; r < std::min(m.rows, (u + 1) * unit_rows); ++r)
          rows.push_back(reinterpret_cast<const std::byte*>(&m.bits[u64{r} * m.cols]));
        pack_unit(u, {static_cast<u32>(rows.size()), rows.data(), dtype::bf16});
      }
    });
  }
  u32 units() const { return ceil_div(from.rows, unit_rows); }
  bf16_unit<Isa> unit(u32 u) const { return {data_of(memory) + u * packing::unit_bytes(from.cols)}; }
  u32 raw_blocks() const {
    u32 n = 0;
    for (u32 u = 0; u < units(); ++u)
      for (u32 b = 0; b < bf16_unit<Isa>::blocks(from.cols); ++b) n += unit(u).is_raw(b);
    return n;
  }
  bool reads_back() const {
    bool same = true;
    std::vector<float> got(from.cols);
    for (u32 r = 0; r < units() * unit_rows; ++r) {
      packing::unpack_row(unit(r / unit_rows).header, r % unit_rows, from.cols, got.data());
      for (u32 c = 0; c < from.cols; ++c)
        same = same && std::bit_cast<u32>(got[c]) == (r < from.rows ? u32{from.at(r, c)} << 16 : 0);
    }
    return same;
  }
};

// A unit as it would be if no block could be small.
template <class Isa> std::vector<cache_line> sixteen(const bit_patterns& m, u32 u) {
  using unit = bf16_unit<Isa>;
  using block = typename unit::raw_block;
  const u64 head = unit::header_bytes(m.cols);
  std::vector<cache_line> memory((head + u64{unit::blocks(m.cols)} * block::block_bytes) / 64);
  std::byte* header = data_of(memory);
  std::memset(header, 0xff, head);
  write(header + unit::table_bytes, head);
  for (u32 r = 0; r < unit_rows; ++r)
    for (u32 b = 0; b < unit::blocks(m.cols); ++b) {
      u16 values[block::block]{};
      for (u32 k = 0; k < block::block && u * unit_rows + r < m.rows; ++k)
        if (b * block::block + k < m.cols) values[k] = m.at(u * unit_rows + r, b * block::block + k);
      block::pack(header + head + u64{b} * block::block_bytes, r, reinterpret_cast<const std::byte*>(values));
    }
  return memory;
}

// [n][32] of a unit
template <class Isa>
std::vector<float> product(const std::byte* header, const std::vector<float>& x, u32 n, u32 cols) {
  using m = matmul<dtype::bf16, Isa>;
  using operand = typename m::x_operand;
  std::vector<std::byte> tiles(operand::bytes(n, cols));
  for (u32 t = 0; t < n; ++t) operand::put(tiles.data(), n, cols, t, 0, cols, &x[u64{t} * cols]);
  std::vector<float> y(n * unit_rows);
  m::unit(header, tiles.data(), operand::token_bytes(cols), n, cols,
          [&](u32 first, u32 count, const float* out) { std::copy_n(out, count * unit_rows, &y[first * unit_rows]); });
  return y;
}

// Equal bits, and NaN where NaN is: of two NaN the compiler may keep either.
bool same_numbers(const std::vector<float>& a, const std::vector<float>& b) {
  bool same = a.size() == b.size();
  for (u64 i = 0; same && i < a.size(); ++i)
    same = std::isnan(a[i]) ? std::isnan(b[i]) : std::bit_cast<u32>(a[i]) == std::bit_cast<u32>(b[i]);
  return same;
}

}  // namespace

TEST_CASE("packed_bf16: every weight comes back, whatever its bits") {
  for_each_packing([]<class Isa>() {
    for (const u32 cols : {1u, 7u, 8u, 24u, 250u, 513u, 1000u})
      for (const u32 rows : {1u, 31u, 32u, 70u}) {
        CAPTURE(cols);
        CAPTURE(rows);
        CHECK(twelve<Isa>(bit_patterns::normal(rows, cols, rows + cols)).reads_back());
        CHECK(twelve<Isa>(bit_patterns::random(rows, cols, rows + cols)).reads_back());
      }
    // All patterns there are; 256 of each high byte, in order and out of it.
    const bit_patterns all(32, 2048, [](u64 i) { return static_cast<u16>(i); });
    const bit_patterns mixed(32, 2048, [](u64 i) { return static_cast<u16>(i * 40503); });
    CHECK(twelve<Isa>(all).reads_back());
    CHECK(twelve<Isa>(mixed).reads_back());
    CHECK(twelve<Isa>(mixed).raw_blocks() == 256);
  });
}

TEST_CASE("packed_bf16: 16 high bytes fit, and one weight more makes its block raw, wherever it is") {
  for_each_packing([]<class Isa>() {
    // Signs, zeros, subnormals, infinities, NaN: a high byte is a high byte.
    constexpr u16 high[]{0x00, 0x80, 0x7f, 0xff, 0x3c, 0xbc, 0x3d, 0xbd,
                         0x01, 0x81, 0x7e, 0xfe, 0x40, 0xc0, 0x2a, 0xd5};
    bit_patterns m(64, 40, [&](u64 i) { return static_cast<u16>(u64{high[i * 7 % 16]} << 8 | (i * 29 & 255)); });
    const twelve<Isa> clean(m);
    CHECK(clean.raw_blocks() == 0);
    CHECK(clean.reads_back());
    CHECK(clean.bytes == 2 * (bf16_unit<Isa>::header_bytes(40) + 5 * 384));
    for (u32 row = 0; row < 64; ++row)
      for (const u32 col : {0u, 5u, 9u, 18u, 27u, 38u, 39u}) {
        const u16 before = m.at(row, col);
        m.at(row, col) = 0x5aa5;
        const twelve<Isa> one(m);
        CHECK(one.raw_blocks() == 1);
        CHECK(one.unit(row / unit_rows).is_raw(col / 8));
        CHECK(one.bytes == clean.bytes + 128);
        CHECK(one.reads_back());
        m.at(row, col) = before;
      }
  });
}

TEST_CASE("packed_bf16: three quarters of the bytes for weights like those of models, no gain from noise") {
  for_each_packing([]<class Isa>() {
    constexpr u32 rows = 96, cols = 1024;
    const auto size = [](const bit_patterns& m) { return double(twelve<Isa>(m).bytes) / (rows * cols * 2); };
    CHECK(size(bit_patterns::normal(rows, cols, 1)) < 0.765);
    CHECK(size({rows, cols, [](u64) { return u16{0}; }}) < 0.752);
    CHECK(size(bit_patterns::random(rows, cols, 1)) > 1);
    CHECK(size(bit_patterns::random(rows, cols, 1)) < 1.002);
    auto scales = bit_patterns::normal(rows, cols, 1);  // each unit has a table of its own
    for (u32 r = 32; r < rows; ++r)
      for (u32 c = 0; c < cols; ++c)
        scales.at(r, c) = to_bf16(from_bf16(scales.at(r, c)) * (r < 64 ? 0x1p-40f : 0x1p30f));
    CHECK(size(scales) < 0.765);
  });
}

TEST_CASE("packed_bf16: products are those of weights in 16 bits, bit for bit, for any number of tokens") {
  for_each_packing([]<class Isa>() {
    std::mt19937 any(3);
    const auto spoil = [&](bit_patterns m, std::initializer_list<u16> with) {
      for (u32 i = 0; i < 40; ++i) m.bits[any() % m.bits.size()] = with.begin()[any() % with.size()];
      return m;
    };
    for (const u32 cols : {8u, 20u, 520u, 1024u}) {
      CAPTURE(cols);
      const auto x = random_row(100 * cols, cols);
      const auto model = bit_patterns::normal(64, cols, cols);
      for (const bit_patterns& m :
           {model, spoil(model, {0x0000, 0x8000, 0x0001, 0x807f, 0x7f00, 0xff7f}),
            spoil(model, {0x7f80, 0xff80, 0x7fc0, 0xffff, 0x0000}), bit_patterns::random(40, cols, 5)}) {
        const twelve<Isa> small(m);
        for (u32 u = 0; u < 2; ++u) {
          const auto raw = sixteen<Isa>(m, u);
          const auto want = product<Isa>(data_of(raw), x, 100, cols);
          for (const u32 n : {1u, 2u, 7u, 8u, 29u, 64u, 75u, 100u})
            for (const std::byte* header : {small.unit(u).header, data_of(raw)})
              CHECK(same_numbers(product<Isa>(header, x, n, cols), {want.begin(), want.begin() + n * unit_rows}));
        }
      }
    }
  });
}
