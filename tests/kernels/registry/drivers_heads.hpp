// SPDX-License-Identifier: MIT
// drivers_heads.hpp: cases of the steps of attention, and of those of latent attention around the scores.
#pragma once

#include "drivers_rows.hpp"

namespace parity {

// cos and sin of any angles, for `positions` of `width` turned dims.
inline void give_angles(parity_case& c, u32 positions, u32 width) {
  for (const float angle : random_row(u64{positions} * (width / 2), 11, 3))
    c.cos.push_back(std::cos(angle)), c.sin.push_back(std::sin(angle));
}
inline std::string heads_text(const head_shape& p, split by) {
  return std::to_string(p.heads) + " heads of " + std::to_string(p.head_dim) + ", " + std::to_string(p.kv_heads) +
      " of keys, " + (by == split::kv_heads ? "by head" : "by tokens");
}

// q and k in, q and k out: normed, turned, or both, as `block` of the two says.
inline std::vector<parity_case> q_and_k_cases(params block(const head_norm_params&, const rotary&)) {
  std::vector<parity_case> all;
  for (const u32 d : {6u, 40u, 64u})
    for (const pairing pairs : {pairing::split, pairing::adjacent, pairing::split_halves})
      for (const split by : {split::kv_heads, split::tokens}) {
        const head_norm_params norm{.shape = {6, 2, d}, .eps = 1e-6, .offset = pairs == pairing::split ? 0 : 1};
        const rotary rope{.dims = d > 6 ? d - 8 : pairs == pairing::split_halves ? 4 : 6, .theta = 1e4, .pairs = pairs};
        parity_case c{
            .what = heads_text(norm.shape, by), .p = block(norm, rope), .tokens = row_tokens, .by = by, .units = 2};
        c.within = 3e-6, c.position = 3;
        c.in = {random_rows(6 * d, 1, 2), random_rows(2 * d, 2, 2)}, c.out = c.in;  // a rope turns what is there
        c.weights = {{.vector = random_row(d, 3)}, {.vector = random_row(d, 4)}};
        give_angles(c, c.position + row_tokens, rope.dims);
        all.push_back(c);
        c.what += ", q alone", c.in.pop_back(), c.out.pop_back();
        all.push_back(c);
      }
  return all;
}
template <> struct driver<opcode::head_norm> {
  static std::vector<parity_case> cases(kernel_types) {
    return q_and_k_cases([](const head_norm_params& norm, const rotary&) -> params { return norm; });
  }
};
template <> struct driver<opcode::rope> {
  static std::vector<parity_case> cases(kernel_types) {
    return q_and_k_cases(
        [](const head_norm_params& norm, const rotary& rope) -> params { return rope_params{norm.shape, rope}; });
  }
};
template <> struct driver<opcode::head_norm_rope> {
  static std::vector<parity_case> cases(kernel_types) {
    return q_and_k_cases(
        [](const head_norm_params& norm, const rotary& rope) -> params { return head_norm_rope_params{norm, rope}; });
  }
};

// f<KV>() of a format that caches have.
template <class F> void with_cache_format(dtype kv, F f) {
  boost::hana::for_each(registry::formats_of<opcode::kv_store>,
                        [&]<dtype KV>(boost::hana::integral_constant<dtype, KV>) {
                          if (KV == kv) f.template operator()<KV>();
                        });
}
constexpr u64 cache_offset = 192;  // of the layer's state in a page
inline kv_place cache_of(dtype kv, u32 head_dim) {
  kv_place place{cache_offset, 0, 1};
  with_cache_format(kv, [&]<dtype KV>() { place.block_bytes = kv_cache<KV, isa::scalar>::block_bytes(head_dim); });
  return place;
}

template <> struct driver<opcode::kv_store> {
  static std::vector<parity_case> cases(kernel_types t) {
    std::vector<parity_case> all;
    for (const u32 d : {2u, 24u, 64u, 90u})
      for (const u32 position : {0u, 117u})
        for (const split by : {split::kv_heads, split::tokens}) {
          const kv_store_params p{.kv_heads = 2, .head_dim = d};
          parity_case c{.what = heads_text({6, 2, d}, by) + " from " + std::to_string(position),
                        .p = p,
                        .tokens = row_tokens,
                        .by = by,
                        .units = 2};
          c.in = {random_rows(2 * d, 1, 2), random_rows(2 * d, 2, 2)}, c.position = position,
          c.kv = cache_of(t.first, d);
          c.page_bytes = c.kv.offset + 2 * c.kv.block_bytes, c.pages.resize(2 * c.page_bytes);
          with_cache_format(t.first, [&]<dtype KV>() { c.stored = stored<KV>; });
          all.push_back(c);
        }
    return all;
  }

 private:
  template <dtype KV> static std::vector<float> stored(const parity_case& c, const work& w) {
    using cache = kv_cache<KV, isa::scalar>;
    const kv_store_params& p = c.p.as<kv_store_params>();
    std::vector<float> out;
    for (u32 h = 0; h < p.kv_heads; ++h)
      for (u32 s = c.position; s < c.position + c.tokens; ++s)
        for (u32 i = 0; i < p.head_dim; ++i) {
          const kv_blocks head = blocks_of(w, w.segments[0], h);
          out.push_back(cache::key(head, s, p.head_dim, i)), out.push_back(cache::value(head, s, p.head_dim, i));
        }
    return out;
  }
};

// A cache of random keys and values, and queries of its last positions.
inline parity_case attention_case(const attention_params& p, dtype kv, u32 position, u32 tokens, split by, dtype form) {
  const auto [heads, kv_heads, head_dim] = p.shape;
  // attention.cpp's bounds against PyTorch: bf16 rounds the weights, q8_0 also queries and weights to 16 bits
  const double bound = kv == dtype::q8_0 ? 3e-2 : kv == dtype::bf16 ? 4e-3 : 4e-6;
  parity_case c{.what = text(heads_text(p.shape, by) + ", at " + std::to_string(position), heads * head_dim, form),
                .p = p,
                .tokens = tokens,
                .by = by};
  c.within = std::max(bound, within_of(form, 0)), c.position = position;
  c.in = {random_rows(heads * head_dim, 5, 2, tokens)}, c.out = {{.width = heads * head_dim, .as = form}};
  c.kv = cache_of(kv, head_dim);
  c.page_bytes = c.kv.offset + kv_heads * c.kv.block_bytes,
  c.pages.resize(ceil_div(position + tokens, key_block) * c.page_bytes);
  std::vector<std::byte*> pages;
  for (u64 at = 0; at < c.pages.size(); at += c.page_bytes) pages.push_back(&c.pages[at]);
  const u32 wide = kv_heads * head_dim;
  const auto k = random_row(u64{position + tokens} * wide, 6), v = random_row(u64{position + tokens} * wide, 7);
  with_cache_format(kv, [&]<dtype KV>() {
    for (u32 s = 0; s < position + tokens; ++s)
      for (u32 h = 0; h < p.shape.kv_heads; ++h) {
        const u64 at = u64{s} * wide + h * p.shape.head_dim;
        kv_cache<KV, isa::scalar>::store({pages.data(), c.kv.offset + h * c.kv.block_bytes}, s, p.shape.head_dim,
                                         &k[at], &v[at]);
      }
  });
  const segment one{0, tokens, position, {}};
  const u32 shared = by == split::kv_heads ? units_to_share(p, {&one, 1}) : 0;
  c.units = by == split::tiles ? units_of(params(p), by, tokens, 0, ceil_div(tokens, unit_tokens))
                               : kv_heads + kv_heads * shared,
  c.cut = shared;
  return c;
}
inline std::vector<parity_case> attention_cases(dtype kv, std::initializer_list<dtype> forms) {
  std::vector<parity_case> all;
  for (const dtype form : forms) {
    const attention_params full{.shape = {8, 2, 40}}, near{.shape = {8, 2, 40}, .window = 50, .cap = 30};
    const attention_params one_key{.shape = {10, 1, 36}, .scale = 0.2f};
    for (const split by : {split::kv_heads, split::tiles})
      for (const attention_params& p : {full, near}) all.push_back(attention_case(p, kv, 121, row_tokens, by, form));
    all.push_back(attention_case(full, kv, 1100, 2, split::kv_heads, form));   // runs of keys, joined
    all.push_back(attention_case(one_key, kv, 64, 1, split::kv_heads, form));  // slices of heads
    const attention_params both_ways{.shape = {8, 4, 48}, .bidirectional = true};
    for (const u32 position : {0u, 121u})
      for (const split by : {split::kv_heads, split::tiles})
        all.push_back(attention_case(both_ways, kv, position, row_tokens, by, form));
  }
  return all;
}
template <> struct driver<opcode::attend> {
  static std::vector<parity_case> cases(kernel_types t) { return attention_cases(t.first, {dtype::f32}); }
};
template <> struct driver<opcode::attend_quantize> {
  static std::vector<parity_case> cases(kernel_types t) {
    std::vector<parity_case> all = attention_cases(t.first, {dtype::bf16, dtype::q8_0});
    // as graph/fuse.hpp: a block of numbers lies inside the columns of one kv head
    std::erase_if(all, [](const parity_case& c) {
      const head_shape& shape = c.p.as<attention_params>().shape;
      return c.out[0].as == dtype::q8_0 && shape.group() * shape.head_dim % 32 != 0;
    });
    return all;
  }
};

// ---- latent attention -----------------------------------------------------------------------------

template <> struct driver<opcode::latent_key> {
  static std::vector<parity_case> cases(kernel_types) {
    std::vector<parity_case> all;
    for (const u32 rank : {7u, 32u, 66u})
      for (const u32 turned : {2u, 6u, 16u}) {
        parity_case c{.what = std::to_string(rank) + " and " + std::to_string(turned),
                      .tokens = row_tokens,
                      .by = split::tokens,
                      .units = 2,
                      .within = 3e-6};
        c.p = latent_key_params{
            .rank = rank, .eps = 1e-6, .rope = {.dims = turned, .theta = 1e4, .pairs = pairing::adjacent}};
        c.in = {random_rows(rank + turned, 1, 2)}, c.out = {{.width = rank + turned}},
        c.weights = {{.vector = random_row(rank, 2)}};
        give_angles(c, row_tokens, turned);
        all.push_back(c);
      }
    return all;
  }
};

template <> struct driver<opcode::split_heads> {
  static std::vector<parity_case> cases(kernel_types) {
    std::vector<parity_case> all;
    for (const dtype form : register_forms)
      for (const u32 nope : widths_for(form)) {
        const u32 heads = 3, turned = 6, kept = 10 + turned;
        parity_case c{
            .what = text("heads", nope, form), .tokens = row_tokens, .by = split::tokens, .units = 2, .within = 3e-6};
        c.p = split_heads_params{.heads = heads,
                                 .head_dim = nope + turned,
                                 .cols = nope,
                                 .rope = {.dims = turned, .theta = 1e4, .pairs = pairing::adjacent}};
        c.in = {random_rows(heads * (nope + turned), 1, 2)};
        c.out = {{.width = nope, .as = form, .runs = std::vector<u32>(heads, row_tokens), .rows = heads * row_tokens},
                 random_rows(heads * kept, 2)};
        give_angles(c, row_tokens, turned);
        all.push_back(c);
        c.what += ", without a rope", c.p = split_heads_params{.heads = heads, .head_dim = nope, .cols = nope},
                                      c.in = {random_rows(heads * nope, 1)}, c.out.pop_back();
        all.push_back(c);
      }
    return all;
  }
};

}  // namespace parity
