// SPDX-License-Identifier: MIT
// latent.cpp: what is cached of a token, and the queries of latents, against DeepSeek-V3's attention in transformers,
// on every isa.
#include "cke/kernels/attention/latent.hpp"

#include "cke/graph/plan.hpp"
#include "numbers.hpp"

using namespace cke;
using namespace cke::graph;
using namespace cke::kernels;
using namespace numbers;

namespace {

struct room {  // of a register
  std::vector<float> floats;
  view v;
  room(u32 width, u32 rows)
      : floats(u64{rows} * row_stride(width), NAN),
        v{reinterpret_cast<std::byte*>(floats.data()), width, row_stride(width)} {}
  void fill(const std::vector<float>& from, u32 first, u32 count) {
    for (u32 t = 0; t < count; ++t) std::copy_n(&from[u64{first + t} * v.width], v.width, v.row(t));
  }
};

// Each head's matrix, one below the other.
template <class Isa> std::vector<std::byte> packed_heads(const std::vector<float>& numbers, u32 heads, u32 rows,
                                                         u32 cols) {
  using form = kernels::packed<dtype::f32, Isa>;
  const u32 units = heads * units_of_group(rows);
  std::vector<std::byte> out(form::bytes(units, cols) + 64);
  form::pack(out.data() + (64 - reinterpret_cast<std::uintptr_t>(out.data()) % 64), units, cols, [&](auto&& pack_unit) {
    for (u32 u = 0; u < units; ++u) {
      const row_range r = rows_of_unit(rows, u);
      const std::byte* from[unit_rows]{};
      for (u32 i = 0; i < r.count; ++i) from[i] = reinterpret_cast<const std::byte*>(&numbers[u64{r.first + i} * cols]);
      pack_unit(u, {r.count, from, dtype::f32});
    }
  });
  return out;
}

}  // namespace

TEST_CASE("latent: keys and queries are those of transformers, however tokens are cut") {
  fixture<float> f("latent.f32");
  for (u32 left = f.count(); left > 0; --left) {
    CAPTURE(left);
    const u32 heads = f.count(), nope = f.count(), turned = f.count(), rank = f.count(), tokens = f.count(),
              kept = rank + turned;
    const float eps = f.next();
    const auto cos = f.next(u64{tokens} * turned / 2), sin = f.next(u64{tokens} * turned / 2), norm = f.next(rank);
    const auto of_token = f.next(u64{tokens} * kept), want_key = f.next(u64{tokens} * kept),
               query = f.next(u64{tokens} * heads * (nope + turned));
    const auto matrices = f.next(u64{heads} * rank * nope), want_query = f.next(u64{tokens} * heads * kept);
    const rotary rope{.dims = turned, .theta = 1e4, .pairs = pairing::adjacent};
    for_each_isa([&]<class Isa>() {
      const auto memory = packed_heads<Isa>(matrices, heads, rank, nope);
      for (const u32 step : {tokens, 1u, 16u})
        for (u32 at = 0, n; at < tokens; at += n) {
          n = std::min(step, tokens - at);
          const segment one{0, n, at, {}};
          const std::vector<u32> segment_of(n, 0);
          work w;
          w.tokens = n, w.segments = {&one, 1}, w.segment_of = segment_of.data(), w.by = split::tokens,
          w.rope = {cos.data(), sin.data()};
          room in(kept, n), key(kept, n), q(heads * (nope + turned), n), rows(nope, n * heads), y(heads * kept, n);
          in.fill(of_token, at, n), q.fill(query, at, n);
          w.in[0] = in.v, w.out[0] = key.v, w.weight[0] = reinterpret_cast<const std::byte*>(norm.data());
          for (u32 u = 0; u < ceil_div(n, unit_tokens); ++u)
            kernel<opcode::latent_key, dtype::f32, Isa>::run({.rank = rank, .eps = eps, .rope = rope}, w, u);
          const split_heads_params by_head{.heads = heads, .head_dim = nope + turned, .cols = nope, .rope = rope};
          w.in[0] = q.v, w.out[0] = rows.v, w.out[1] = y.v;
          for (u32 u = 0; u < ceil_div(n, unit_tokens); ++u)
            kernel<opcode::split_heads, dtype::f32, Isa>::run(by_head, w, u);
          w.in[0] = rows.v, w.out[0] = y.v, w.out[1] = {}, w.by = split::rows;
          w.weight[0] = memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64);
          for (u32 u = 0; u < heads * units_of_group(rank); ++u)
            kernel_of<opcode::head_matmul, dtype::f32, Isa>()(
                head_matmul_params{.heads = heads, .rows = rank, .cols = nope, .head_dim = kept}, w, u);
          for (u32 t = 0; t < n; ++t) {
            CHECK(distance(key.v.row(t), &want_key[u64{at + t} * kept], kept) < 1e-5);
            CHECK(distance(y.v.row(t), &want_query[u64{at + t} * heads * kept], u64{heads} * kept) < 1e-5);
          }
        }
    });
  }
  CHECK(f.done());
}

TEST_CASE("latent: heads that share one key and value are several units at short contexts, runs of keys at long ones") {
  const auto units = [](const attention_params& p, std::initializer_list<segment> segments) {
    return units_to_share(p, std::span(segments.begin(), segments.size()));
  };
  const attention_params lite{.shape = {16, 1, 576}};
  const segment at_64{0, 1, 64, {}}, at_500{1, 1, 500, {}}, at_1100{2, 1, 1100, {}};
  CHECK(units(lite, {at_64}) == 4);
  CHECK(units(lite, {at_64, at_500}) == 8);
  CHECK(units(lite, {at_1100}) == 3);
  CHECK(units(lite, {at_64, at_500, at_1100}) == 11);
  CHECK(units({.shape = {128, 1, 576}}, {at_64}) == 32);
  CHECK(units({.shape = {10, 1, 36}}, {at_64}) == 2);  // 8 heads fill blocks of 32 numbers
  CHECK(units({.shape = {5, 1, 22}}, {at_64}) == 0);
  CHECK(units({.shape = {32, 2, 128}}, {at_64}) == 0);
}
