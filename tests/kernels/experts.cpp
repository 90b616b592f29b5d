// SPDX-License-Identifier: MIT
// experts.cpp: rows grouped by expert give the bits of each row by itself, and every isa agrees with the scalar one.
#include "cke/kernels/experts.hpp"

#include <numeric>

#include "cke/graph/plan.hpp"
#include "numbers.hpp"

using namespace cke;
using namespace cke::graph;
using namespace cke::kernels;
using namespace numbers;

namespace {

using lines = std::vector<cache_line>;
lines poisoned(u64 bytes) {
  cache_line poison;
  std::memset(poison.bytes, 0xff, 64);
  return lines(bytes / 64 + 2, poison);
}

struct reg {
  lines data;
  view v;
  reg(value of, u32 tokens)
      : data(poisoned(register_bytes(of, tokens))), v{data_of(data), of.width, row_stride(of.width), of.as} {}
};

// `count` matrices [rows][cols] of type F, one below the other, as slots of experts are packed.
template <dtype F, class Isa> lines matrices(u32 count, u32 rows, u32 cols, u32 seed) {
  const std::vector<std::byte> file = random_file(F, u64{count} * rows * cols, seed);
  const u32 units = count * units_of_group(rows);
  lines out = poisoned(kernels::packed<F, Isa>::bytes(units, cols));
  kernels::packed<F, Isa>::pack(data_of(out), units, cols, [&](auto&& pack_unit) {
    for (u32 u = 0; u < units; ++u) {
      const row_range r = rows_of_unit(rows, u);
      const std::byte* from[unit_rows]{};
      for (u32 i = 0; i < r.count; ++i) from[i] = &file[bytes_of(F, u64{r.first + i} * cols)];
      pack_unit(u, {r.count, from, F});
    }
  });
  return out;
}

constexpr u32 most_tokens = 37;

// A mixture with gate and up of types G and U, down of type D.
template <class Isa, dtype G, dtype U, dtype D> struct mixture {
  router r{.experts = 6, .active = 3};
  u32 dim, hidden;
  bool ungated{};
  lines gate, up, down;
  std::vector<float> x, choices;  // [most_tokens][dim], [most_tokens][2 * active]

  mixture(u32 d, u32 h)
      : dim(d),
        hidden(h),
        gate(matrices<G, Isa>(r.experts, h, d, 1)),
        up(matrices<U, Isa>(r.experts, h, d, 2)),
        down(matrices<D, Isa>(r.experts, d, h, 3)),
        x(random_row(most_tokens * d, 4)) {
    const auto weights = random_row(most_tokens * r.active, 5);
    std::mt19937 random(6);
    for (u32 t = 0; t < most_tokens; ++t) {
      u32 order[5]{0, 1, 2, 3, 4};  // nobody chooses the last expert
      std::shuffle(order, order + 5, random);
      for (u32 k = 0; k < r.active; ++k) choices.push_back(static_cast<float>(order[k]));
      choices.insert(choices.end(), &weights[t * r.active], &weights[t * r.active] + r.active);
    }
  }

  // [count][dim]: tokens [first, first + count) in one pass that adds to a stream of ones, or writes
  std::vector<float> pass(u32 first, u32 count, bool adds, split gathers) {
    reg in({dim}, count), chosen({2 * r.active}, count), order({4 * r.active}, count), y({dim}, count);
    reg rows({dim, info(G).partner, r.active}, count), more({dim, info(U).partner, r.active}, count);
    reg h({hidden, info(D).partner, r.active}, count);
    for (u32 t = 0; t < count; ++t) {
      std::copy_n(&x[u64{first + t} * dim], dim, in.v.row(t));
      std::copy_n(&choices[u64{first + t} * 2 * r.active], 2 * r.active, chosen.v.row(t));
      std::fill_n(y.v.row(t), dim, 1.f);
    }
    lines scratch = poisoned(u64{most_tokens} * unit_rows * sizeof(float));
    const auto go = [&](kernel_entry run, params q, std::initializer_list<view> ins, view out,
                        std::initializer_list<const lines*> weights, split by, u32 row_units) {
      work w;
      w.tokens = count, w.by = by, w.scratch = data_of(scratch), w.out[0] = out;
      std::ranges::copy(ins, w.in);
      std::ranges::transform(weights, w.weight, [](const lines* m) { return data_of(*m); });
      for (u32 u = 0; u < units_of(q, by, count, row_units); ++u) run(q, w, u);
    };
    go(kernel_of<opcode::sort_by_expert, dtype::f32, Isa>(), route_params{r}, {chosen.v}, order.v, {},
       split::per_thread, 0);
    go(kernel_of<opcode::gather, dtype::f32, Isa>(), gather_params{dim, r}, {order.v, in.v}, rows.v, {}, gathers, 0);
    go(kernel_of<opcode::gather, dtype::f32, Isa>(), gather_params{dim, r}, {order.v, in.v}, more.v, {}, gathers, 0);
    constexpr auto act = kernel_of<opcode::expert_act, G == U ? kernel_types(G) : kernel_types(G, U), Isa>();
    constexpr auto up_act = kernel_of<opcode::expert_up, kernel_types(U).with(activation::relu2), Isa>();
    const expert_params p{.rows = hidden, .cols = dim, .route = r},
        alone{.rows = hidden, .cols = dim, .act = activation::relu2, .route = r};
    if (ungated) go(up_act, alone, {order.v, more.v}, h.v, {&up}, split::experts, units_of_group(hidden));
    else go(act, p, {order.v, rows.v, more.v}, h.v, {&gate, &up}, split::experts, units_of_group(hidden));
    const expert_sum_params q{.rows = dim, .cols = hidden, .route = r};
    go(adds ? kernel_of<opcode::expert_sum_add, D, Isa>() : kernel_of<opcode::expert_sum, D, Isa>(), q, {order.v, h.v},
       y.v, {&down}, split::rows, units_of_group(dim));
    std::vector<float> out;
    for (u32 t = 0; t < count; ++t) out.insert(out.end(), y.v.row(t), y.v.row(t) + dim);
    return out;
  }
};

template <class F> void for_each_mixture(F&& f) {
  for_each_isa([&]<class Isa>() {
    CAPTURE(Isa::name);
    f.template operator()<Isa, dtype::f32, dtype::f32, dtype::f32>(40u, 24u);
    f.template operator()<Isa, dtype::bf16, dtype::bf16, dtype::f16>(41u, 70u);
    f.template operator()<Isa, dtype::q8_0, dtype::q8_0, dtype::q8_0>(96u, 160u);
    f.template operator()<Isa, dtype::q8_0, dtype::bf16, dtype::q4_0>(64u, 32u);
    f.template operator()<Isa, dtype::q4_k, dtype::q5_k, dtype::q6_k>(256u, 256u);
  });
}

}  // namespace

TEST_CASE("experts: a token's bits do not depend on who else is in the pass") {
  for_each_mixture([]<class Isa, dtype G, dtype U, dtype D>(u32 dim, u32 hidden) {
    CAPTURE(dim);
    mixture<Isa, G, U, D> m(dim, hidden);
    for (const bool ungated : {false, true}) {
      m.ungated = ungated;
      std::vector<float> alone;
      for (u32 t = 0; t < most_tokens; ++t) {
        const auto one = m.pass(t, 1, false, split::per_thread);
        alone.insert(alone.end(), one.begin(), one.end());
      }
      for (const auto& [first, count] : {std::pair{0u, most_tokens}, {0u, 16u}, {16u, 17u}, {3u, 2u}, {33u, 4u}})
        for (const split gathers : {split::per_thread, split::tokens}) {
          const std::vector<float> want(&alone[first * dim], &alone[first * dim] + count * dim);
          CHECK(same_bits(m.pass(first, count, false, gathers), want));
          std::vector<float> on_top = want;
          for (float& v : on_top) v = 1 + v;
          CHECK(same_bits(m.pass(first, count, true, gathers), on_top));
        }
    }
  });
}

TEST_CASE("experts: simd and scalar agree") {
  for_each_mixture([]<class Isa, dtype G, dtype U, dtype D>(u32 dim, u32 hidden) {
    CAPTURE(dim);
    mixture<isa::scalar, G, U, D> scalar(dim, hidden);
    mixture<Isa, G, U, D> simd(dim, hidden);
    for (const bool ungated : {false, true}) {
      scalar.ungated = simd.ungated = ungated;
      const auto want = scalar.pass(0, most_tokens, false, split::tokens);
      const auto got = simd.pass(0, most_tokens, false, split::tokens);
      // Of all numbers together: a code of h that rounds the other way moves a token's row, one wrong number is 1e-2.
      double apart = 0, size = 0;
      for (std::size_t i = 0; i < want.size(); ++i) {
        apart += std::pow(double{got[i]} - double{want[i]}, 2);
        size += std::pow(double{want[i]}, 2);
      }
      CHECK(std::sqrt(apart / size) < 1e-3);
    }
  });
}

TEST_CASE("experts: weighted sums of single experts, in the order of their numbers") {
  using m32 = mixture<isa::native, dtype::f32, dtype::f32, dtype::f32>;
  m32 m(40, 24);
  const auto want = m.pass(5, 1, false, split::per_thread);
  const std::vector<float> all(&m.choices[5 * 6], &m.choices[5 * 6] + 6);
  std::vector<u32> ranks{0, 1, 2};
  std::ranges::sort(ranks, {}, [&](u32 k) { return all[k]; });
  std::vector<float> sum(40, 0.f);
  for (const u32 k : ranks) {  // the others count 0
    for (u32 other = 0; other < 3; ++other) m.choices[5 * 6 + 3 + other] = other == k ? all[3 + k] : 0.f;
    const auto part = m.pass(5, 1, false, split::per_thread);
    for (u32 i = 0; i < 40; ++i) sum[i] += part[i];
  }
  CHECK(same_bits(sum, want));
}

TEST_CASE("experts: units cover what tokens can choose, and no more than there is") {
  const expert_params p{.route = {.experts = 128, .active = 8}};
  CHECK(units_of(p, split::experts, 1, 24) == 8 * 24);
  CHECK(units_of(p, split::experts, 15, 24) == 120 * 24);
  CHECK(units_of(p, split::experts, 16, 24) == 128 * 24);
  CHECK(units_of(p, split::experts, 65536, 24) == 128 * 24);
}
