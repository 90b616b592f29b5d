// SPDX-License-Identifier: MIT
// simd.cpp: the register primitives against plain C++, on every isa of this machine.
#include "cke/core/simd.hpp"

#include <array>

#include "cke/core/dtype.hpp"
#include "numbers.hpp"

using namespace cke;
using namespace cke::kernels;
using namespace numbers;

namespace {

template <class F> void for_each_simd(F&& f) {
  for_each_isa_of_integers([&]<class Isa>() {
    CAPTURE(Isa::name);
    if constexpr (!simd::is_scalar<Isa>) f.template operator()<Isa>();
  });
}

template <class Isa> using lane_bytes = std::array<i8, Isa::lanes * 4>;
template <class Isa> simd::vi32<Isa> load(const lane_bytes<Isa>& b) {
  std::array<i32, Isa::lanes> v;
  std::memcpy(v.data(), b.data(), sizeof v);
  return simd::vi32<Isa>::load_unaligned(v.data());
}
template <class Isa> std::array<i32, Isa::lanes> lanes_of(simd::vi32<Isa> v) {
  std::array<i32, Isa::lanes> out;
  v.store_unaligned(out.data());
  return out;
}
template <class Isa> std::array<float, Isa::lanes> lanes_of(simd::vf32<Isa> v) {
  std::array<float, Isa::lanes> out;
  v.store_unaligned(out.data());
  return out;
}

}  // namespace

TEST_CASE("simd: a field of bits moves within each byte") {
  for_each_simd([]<class Isa>() {
    std::mt19937 bits(3);
    lane_bytes<Isa> in;
    for (i8& b : in) b = static_cast<i8>(bits());
    const auto check = [&]<u32 From, u32 Count, u32 To>() {
      CAPTURE(From);
      CAPTURE(Count);
      CAPTURE(To);
      const auto got =
          std::bit_cast<lane_bytes<Isa>>(lanes_of<Isa>(simd::bit_field<Isa, From, Count, To>(load<Isa>(in))));
      for (u32 i = 0; i < in.size(); ++i) {
        const u32 field = static_cast<u8>(in[i]) >> From & ((1u << Count) - 1);
        CHECK(static_cast<u8>(got[i]) == field << To);
      }
    };
    check.template operator()<0, 4, 0>(), check.template operator()<4, 4, 0>();
    check.template operator()<0, 2, 4>(), check.template operator()<2, 2, 4>(), check.template operator()<4, 2, 4>(),
        check.template operator()<6, 2, 4>(), check.template operator()<6, 2, 0>();
    check.template operator()<0, 1, 4>(), check.template operator()<7, 1, 4>(), check.template operator()<7, 1, 0>(),
        check.template operator()<0, 1, 7>(), check.template operator()<0, 8, 0>();
  });
}

TEST_CASE("simd: byte dots are exact at the ends of their ranges") {
  for_each_simd([]<class Isa>() {
    std::mt19937 bits(7);
    for (u32 round = 0; round < 64; ++round) {
      lane_bytes<Isa> u, w, x;
      for (u32 i = 0; i < u.size(); ++i) {
        const u32 most = simd::has_vnni<Isa> ? 255 : 127;
        u[i] = static_cast<i8>(round == 0 ? most : bits() % (most + 1));
        w[i] = static_cast<i8>(round == 0 ? -128 : static_cast<int>(bits() % 256) - 128);
        x[i] = static_cast<i8>(round < 2 ? 127 : static_cast<int>(bits() % 255) - 127);
      }
      const auto unsigned_got = lanes_of<Isa>(simd::dot4<Isa>(simd::vi32<Isa>(-5), load<Isa>(u), load<Isa>(x)));
      const auto signed_got = lanes_of<Isa>(simd::dot4_signed<Isa>(simd::vi32<Isa>(9), load<Isa>(w), load<Isa>(x)));
      for (u32 lane = 0; lane < Isa::lanes; ++lane) {
        i32 want_unsigned = -5, want_signed = 9;
        for (u32 i = 4 * lane; i < 4 * lane + 4; ++i) {
          want_unsigned += static_cast<u8>(u[i]) * x[i];
          want_signed += w[i] * x[i];
        }
        CHECK(unsigned_got[lane] == want_unsigned);
        CHECK(signed_got[lane] == want_signed);
      }
    }
  });
}

TEST_CASE("simd: dots of small codes are exact at the ends of their ranges") {
  for_each_simd([]<class Isa>() {
    const auto check = [&]<u32 Max, u32 N>() {
      std::mt19937 bits(Max + N);
      for (u32 round = 0; round < 16; ++round) {
        lane_bytes<Isa> codes[N];
        i8 x[4 * N];
        for (auto& c : codes)
          for (i8& byte : c) byte = static_cast<i8>(round < 2 ? Max : bits() % (Max + 1));
        for (i8& byte : x) byte = static_cast<i8>(round == 0 ? 127 : round == 1 ? -127 : int(bits() % 255) - 127);
        simd::vi32<Isa> registers[N];
        for (u32 i = 0; i < N; ++i) registers[i] = load<Isa>(codes[i]);
        const auto got = lanes_of<Isa>(
            simd::dots<Isa, Max, N>(simd::vi32<Isa>(-5), registers, reinterpret_cast<const std::byte*>(x)));
        for (u32 lane = 0; lane < Isa::lanes; ++lane) {
          i32 want = -5;
          for (u32 k = 0; k < 4 * N; ++k) want += static_cast<u8>(codes[k / 4][4 * lane + k % 4]) * x[k];
          CHECK(got[lane] == want);
        }
      }
    };
    const auto both = [&]<u32 Max>() { (check.template operator()<Max, 4>(), check.template operator()<Max, 8>()); };
    both.template operator()<3>();
    both.template operator()<7>();
    both.template operator()<15>();
    both.template operator()<31>();
    both.template operator()<63>();
    if constexpr (simd::has_vnni<Isa>) both.template operator()<255>();
  });
}

TEST_CASE("simd: a bf16 dot adds both products, and broadcasts are of four bytes") {
  for_each_simd([]<class Isa>() {
    const auto values = random_row(4 * Isa::lanes, 3);
    std::array<u16, 2 * Isa::lanes> w;
    for (u32 i = 0; i < w.size(); ++i) w[i] = to_bf16(values[i]);
    const u16 x[2] = {to_bf16(1.5f), to_bf16(-0.25f)};
    std::array<i32, Isa::lanes> pairs;
    std::memcpy(pairs.data(), w.data(), sizeof pairs);
    const auto got = lanes_of<Isa>(simd::dot2_bf16<Isa>(
        simd::vf32<Isa>(2.f), simd::vi32<Isa>::load_unaligned(pairs.data()), simd::bcast4<Isa>(x)));
    for (u32 lane = 0; lane < Isa::lanes; ++lane)
      CHECK(got[lane] == doctest::Approx(2 + 1.5 * from_bf16(w[2 * lane]) - 0.25 * from_bf16(w[2 * lane + 1])));
  });
}

TEST_CASE("simd: a dot of 16-bit pairs is exact; bytes widen; stores saturate") {
  for_each_simd([]<class Isa>() {
    std::array<i8, 2 * Isa::lanes> w;
    for (u32 i = 0; i < w.size(); ++i)
      w[i] = static_cast<i8>(i % 3 ? 100 - 9 * static_cast<i32>(i) : i % 2 ? -128 : 127);
    const i16 x[2] = {-32768, 32767};
    const auto got = lanes_of<Isa>(
        simd::dot2_i16<Isa>(simd::vi32<Isa>(-5), simd::load_i8_as_i16<Isa>(w.data()), simd::bcast4<Isa>(x)));
    for (u32 lane = 0; lane < Isa::lanes; ++lane)
      CHECK(got[lane] == -5 - 32768 * i32{w[2 * lane]} + 32767 * i32{w[2 * lane + 1]});
    std::array<i32, Isa::lanes> v;
    for (u32 i = 0; i < Isa::lanes; ++i) v[i] = static_cast<i32>(i) * 9001 - 40000;
    std::array<i16, Isa::lanes> out;
    simd::store_i16<Isa>(out.data(), simd::vi32<Isa>::load_unaligned(v.data()));
    for (u32 i = 0; i < Isa::lanes; ++i) CHECK(out[i] == std::clamp(v[i], -32768, 32767));
  });
}

TEST_CASE("simd: every half and bfloat is read as by dtype.hpp, and written back") {
  for_each_simd([]<class Isa>() {
    looked_at halves, bfloats;  // a number's row is its bits
    for (u32 first = 0; first < 65536; first += Isa::lanes) {
      std::array<u16, Isa::lanes> in, f16, bf16;
      for (u32 i = 0; i < Isa::lanes; ++i) in[i] = static_cast<u16>(first + i);
      const auto a = simd::load_f16<Isa>(in.data()), b = simd::load_bf16<Isa>(in.data());
      simd::store_f16<Isa>(f16.data(), a);
      simd::store_bf16<Isa>(bf16.data(), b);
      const auto af = lanes_of<Isa>(a), bf = lanes_of<Isa>(b);
      for (u32 i = 0; i < Isa::lanes; ++i) {
        const float want_a = from_f16(in[i]), want_b = from_bf16(in[i]);
        const auto same = [](float x, float y) { return std::bit_cast<u32>(x) == std::bit_cast<u32>(y); };
        halves.see(std::isnan(want_a) ? std::isnan(af[i]) : same(af[i], want_a), in[i], 0, af[i], want_a);
        if (!std::isnan(want_a)) halves.see(f16[i] == in[i], in[i], 1, f16[i], in[i]);
        bfloats.see(std::isnan(want_b) ? std::isnan(bf[i]) : same(bf[i], want_b), in[i], 0, bf[i], want_b);
        if (std::isnan(want_b)) bfloats.see(std::isnan(from_bf16(bf16[i])), in[i], 1, bf16[i], in[i]);
        else if (std::fpclassify(want_b) != FP_SUBNORMAL) bfloats.see(bf16[i] == in[i], in[i], 1, bf16[i], in[i]);
      }
    }
    CHECK(halves);
    CHECK(bfloats);
  });
}

TEST_CASE("simd: halves and bfloats round to nearest even") {
  for_each_simd([]<class Isa>() {
    std::mt19937 random(11);
    const auto bits = [&] { return static_cast<u32>(random()); };
    looked_at halves, bfloats;
    for (u32 round = 0; round < 4000; ++round) {
      std::array<float, Isa::lanes> x;
      for (float& v : x)  // exponents of halves; often a tie
        v = std::bit_cast<float>((bits() & 0x80000000u) | (100 + bits() % 50) << 23 |
                                 (bits() % 2 ? bits() & 0x7fffffu : (bits() & 0x7ffu) << 12 | 0x8000u));
      std::array<u16, Isa::lanes> f16, bf16;
      simd::store_f16<Isa>(f16.data(), simd::vf32<Isa>::load_unaligned(x.data()));
      simd::store_bf16<Isa>(bf16.data(), simd::vf32<Isa>::load_unaligned(x.data()));
      for (u32 i = 0; i < Isa::lanes; ++i) {
        halves.see(f16[i] == to_f16(x[i]), round, i, f16[i], to_f16(x[i]));
        bfloats.see(bf16[i] == to_bf16(x[i]), round, i, bf16[i], to_bf16(x[i]));
      }
    }
    CHECK(halves);
    CHECK(bfloats);
  });
}

TEST_CASE("simd: narrowing saturates; a sum of lanes halves") {
  for_each_simd([]<class Isa>() {
    std::array<i32, Isa::lanes> v;
    for (u32 i = 0; i < Isa::lanes; ++i) v[i] = i % 4 == 0 ? 1000 : i % 4 == 1 ? -1000 : static_cast<i32>(i) - 8;
    i8 out[Isa::lanes];
    simd::store_i8<Isa>(out, simd::vi32<Isa>::load_unaligned(v.data()));
    for (u32 i = 0; i < Isa::lanes; ++i) CHECK(out[i] == std::clamp(v[i], -128, 127));

    auto x = random_row(Isa::lanes, 5);
    const float got = simd::reduce_add<Isa>(simd::vf32<Isa>::load_unaligned(x.data()));
    for (u32 half = Isa::lanes / 2; half; half /= 2)
      for (u32 i = 0; i < half; ++i) x[i] += x[i + half];
    CHECK(std::bit_cast<u32>(got) == std::bit_cast<u32>(x[0]));
  });
}

TEST_CASE("simd: reductions see every lane") {
  for_each_simd([]<class Isa>() {
    for (u32 at = 0; at < Isa::lanes; ++at) {
      auto x = random_row(Isa::lanes, at);
      std::array<i32, Isa::lanes> v;
      for (u32 i = 0; i < Isa::lanes; ++i) v[i] = static_cast<i32>(i * i) - 300;
      x[at] = 1e9f, v[at] = 1 << 20;
      const auto integers = simd::vi32<Isa>::load_unaligned(v.data());
      CHECK(simd::reduce_max<Isa>(simd::vf32<Isa>::load_unaligned(x.data())) == 1e9f);
      CHECK(simd::reduce_max<Isa>(integers) == 1 << 20);
      CHECK(simd::reduce_add<Isa>(integers) == std::accumulate(v.begin(), v.end(), 0));
    }
  });
}

TEST_CASE("simd: tanh within 2e-7, and exact where it is flat") {
  for_each_simd([]<class Isa>() {
    double worst = 0;
    for (float x = -12; x < 12; x += 0.0137f)
      worst = std::max(worst, std::abs(double{simd::tanh<Isa>(simd::vf32<Isa>(x)).get(0)} - std::tanh(double{x})));
    CHECK(worst < 2e-7);
    CHECK(simd::tanh<Isa>(simd::vf32<Isa>(-100.f)).get(0) == -1.f);
    CHECK(simd::tanh<Isa>(simd::vf32<Isa>(100.f)).get(0) == 1.f);
    CHECK(simd::tanh<Isa>(simd::vf32<Isa>(0.f)).get(0) == 0.f);
  });
}

TEST_CASE("simd: exp and exp2 within 2 ulp, exact at the ends") {
  for_each_simd([]<class Isa>() {
    double worst_exp = 0, worst_exp2 = 0;
    for (float x = -126; x < 127; x += 0.00173f) {
      const auto two = static_cast<double>(simd::exp2<Isa>(simd::vf32<Isa>(x)).get(0));
      worst_exp2 = std::max(worst_exp2, std::abs(two / std::exp2(double{x}) - 1));
      const float y = x * 0.69f;
      const auto e = static_cast<double>(simd::exp<Isa>(simd::vf32<Isa>(y)).get(0));
      worst_exp = std::max(worst_exp, std::abs(e / std::exp(double{y}) - 1));
    }
    CHECK(worst_exp < 0x1p-23 * 1.5);
    CHECK(worst_exp2 < 0x1p-23 * 1.5);
    const float inf = HUGE_VALF;
    const auto exp = [](float x) { return lanes_of<Isa>(simd::exp<Isa>(simd::vf32<Isa>(x)))[0]; };
    const auto exp2 = [](float x) { return lanes_of<Isa>(simd::exp2<Isa>(simd::vf32<Isa>(x)))[0]; };
    for (const float x : {-inf, -1e30f, -127.f}) {
      CHECK(exp(x) == 0);
      CHECK(exp2(x) == 0);
    }
    for (const float x : {inf, 1e30f, 128.f}) {
      CHECK(exp(x) == inf);
      CHECK(exp2(x) == inf);
    }
    for (const float x : {-0.f, 0.f}) {
      CHECK(exp(x) == 1);
      CHECK(exp2(x) == 1);
    }
    CHECK(std::isnan(exp(NAN)));
    CHECK(std::isnan(exp2(NAN)));
  });
}

TEST_CASE("simd: look-ups and zips of bytes, in each 16 by themselves") {
  for_each_simd([]<class Isa>() {
    std::mt19937 bits(9);
    lane_bytes<Isa> table, index, a, b, low, high;
    for (u32 i = 0; i < a.size(); ++i) {
      table[i] = static_cast<i8>(bits()), index[i] = static_cast<i8>(bits() % 16);
      a[i] = static_cast<i8>(bits()), b[i] = static_cast<i8>(bits());
      low[i] = i % 2 ? i8{0} : static_cast<i8>(bits()), high[i] = i % 2 ? i8{0} : static_cast<i8>(bits());
    }
    const auto bytes_of = [](simd::vi32<Isa> v) { return std::bit_cast<lane_bytes<Isa>>(lanes_of<Isa>(v)); };
    const auto found = bytes_of(simd::lookup<Isa>(load<Isa>(table), load<Isa>(index)));
    lane_bytes<Isa> same;
    for (u32 i = 0; i < same.size(); ++i) same[i] = table[i % 16];
    const auto nibbles = bytes_of(simd::lookup_nibble<Isa>(load<Isa>(same), load<Isa>(a)));
    const auto first = bytes_of(simd::zip_low<Isa>(load<Isa>(a), load<Isa>(b)));
    const auto last = bytes_of(simd::zip_high<Isa>(load<Isa>(a), load<Isa>(b)));
    const auto apart = bytes_of(simd::unzip<Isa>(load<Isa>(low), load<Isa>(high)));
    for (u32 i = 0; i < a.size(); ++i) {
      const u32 base = i / 16 * 16, at = i % 16;
      CHECK(found[i] == table[base + static_cast<u32>(index[i])]);
      CHECK(first[i] == (at % 2 ? b : a)[base + at / 2]);
      CHECK(last[i] == (at % 2 ? b : a)[base + 8 + at / 2]);
      CHECK(apart[i] == (at < 8 ? low : high)[base + at % 8 * 2]);
      CHECK(nibbles[i] == table[static_cast<u32>(a[i]) & 15u]);
    }
  });
}
