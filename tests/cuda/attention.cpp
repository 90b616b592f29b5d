// SPDX-License-Identifier: MIT
// attention.cpp: attention of prompts has the bits of that of few tokens: over several runs of key blocks, windows,
// groups, caches, and sequences side by side.
#include <cke/cuda/emit.cuh>
#include <cke/cuda/host/emulated.cuh>
#include <cke/text/sampling/random.hpp>

#include <doctest/doctest.h>

using namespace cke;
using namespace cke::cuda;
using cke::text::uniform;

namespace {

struct rows_of {
  u32 tokens, position;
};
struct problem {
  u32 heads, kv_heads, head_dim, window = ~0u;
  float cap = 0;
  std::vector<rows_of> sequences;
  dtype out = dtype::f32;
};

template <dtype KV> class attention {
 public:
  using cache = cuda::cache<KV>;
  using element = typename cache::element;

  explicit attention(const problem& p) {
    std::vector<u32> segment_of;
    std::vector<segment> segments;
    std::vector<std::byte*> pages;
    for (const rows_of& r : p.sequences) {
      segments.push_back({static_cast<u32>(segment_of.size()), r.tokens, r.position, static_cast<u32>(pages.size())});
      segment_of.insert(segment_of.end(), r.tokens, static_cast<u32>(segments.size() - 1));
      const u32 keys = r.position + r.tokens, blocks = ceil_div(keys, key_block);
      for (u32 b = 0; b < blocks; ++b) pages.push_back(page(p, std::min(keys - b * key_block, key_block)));
      s_.key_blocks = std::max(s_.key_blocks, blocks);
    }
    s_.tokens = static_cast<u32>(segment_of.size());
    const u32 width = p.heads * p.head_dim;
    std::vector<float> q(u64{s_.tokens} * width);
    for (float& x : q) x = number();
    out_.resize(u64{s_.tokens} * (p.out == dtype::q8_0 ? padded(width, 64) / 32 * 40 : 4 * width));
    s_.in[0] = {sent(q), width, width, dtype::f32};
    s_.out[0] = {device_.allocate(out_.size()), width, width, p.out};
    s_.heads = p.heads, s_.kv_heads = p.kv_heads, s_.head_dim = p.head_dim, s_.window = p.window, s_.cap = p.cap;
    s_.scale = 1 / std::sqrt(static_cast<float>(p.head_dim)), s_.kv_block_bytes = bytes_of_head(p);
    s_.parts = reinterpret_cast<float*>(
        device_.allocate(u64{most} * p.heads * s_.key_blocks * (p.head_dim + 2) * sizeof(float)));
    s_.now = {nullptr, reinterpret_cast<u32*>(sent(segment_of)), reinterpret_cast<segment*>(sent(segments)),
              reinterpret_cast<std::byte**>(sent(pages))};
  }

  std::vector<std::byte> run(bool of_prompts) {
    s_.of_prompts = of_prompts;
    emitter<opcode::attend, KV, device>::to(device_, s_, most);
    device_.read(out_.data(), s_.out[0].data, out_.size());
    return out_;
  }
  bool takes_prompts() const { return attend_rows<KV, 4>::takes(s_) || attend_rows<KV, 8>::takes(s_); }

 private:
  using device = emulated<sm80>;
  static constexpr u32 most = 16;  // tokens of a launch

  float number() { return static_cast<float>(4 * uniform(3, drawn_++) - 2); }
  static u64 bytes_of_head(const problem& p) { return 2 * u64{key_block} * cache::width(p.head_dim) * sizeof(element); }
  // Keys and values of `keys` positions; behind them are NaNs, which would show in any sum.
  std::byte* page(const problem& p, u32 keys) {
    const u64 elements = bytes_of_head(p) / sizeof(element);
    std::vector<element> all(p.kv_heads * elements, cache::encode(std::nanf("")));
    for (u32 h = 0; h < p.kv_heads; ++h)
      for (u32 key = 0; key < keys; ++key)
        for (u32 d = 0; d < p.head_dim; ++d) {
          element* const k = all.data() + h * elements;
          k[cache::k_index(key, d)] = cache::encode(number());
          cache::values(k, p.head_dim)[cache::v_index(key, p.head_dim, d)] = cache::encode(number());
        }
    return sent(all);
  }
  template <class T> std::byte* sent(const std::vector<T>& all) {
    std::byte* const to = device_.allocate(all.size() * sizeof(T));
    device_.write(to, all.data(), all.size() * sizeof(T));
    return to;
  }

  device device_;
  step s_{};
  u64 drawn_ = 0;
  std::vector<std::byte> out_;
};

template <dtype KV> void same_bits(const problem& p) {
  attention<KV> a(p);
  REQUIRE(a.takes_prompts());
  const auto few = a.run(false);
  CHECK(a.run(true) == few);
}

}  // namespace

TEST_CASE("cuda: attention of prompts has the bits of that of few tokens") {
  // Tokens across the end of a run of four key blocks, and of a key block; warps with tokens of two sequences.
  same_bits<dtype::bf16>(
      {.heads = 4, .kv_heads = 2, .head_dim = 32, .sequences = {{37, 490}, {3, 0}, {40, 100}}, .out = dtype::q8_0});
  // Three queries to a key; the window begins inside of a pair of keys, and leaves out whole blocks and a run.
  same_bits<dtype::bf16>(
      {.heads = 3, .kv_heads = 1, .head_dim = 64, .window = 151, .sequences = {{19, 640}, {9, 148}}});
  same_bits<dtype::f16>({.heads = 3, .kv_heads = 1, .head_dim = 128, .window = 130, .sequences = {{14, 255}}});
  same_bits<dtype::f32>({.heads = 2, .kv_heads = 2, .head_dim = 160, .cap = 5, .sequences = {{11, 250}}});
  same_bits<dtype::bf16>({.heads = 2, .kv_heads = 1, .head_dim = 256, .sequences = {{9, 510}}});
}

TEST_CASE("cuda: shapes that no kernel for prompts takes go the other way") {
  for (const auto& [heads, head_dim] : {std::pair{4u, 24u}, {4u, 288u}, {66u, 32u}}) {
    attention<dtype::bf16> a({.heads = heads, .kv_heads = 2, .head_dim = head_dim, .sequences = {{5, 3}}});
    CHECK(!a.takes_prompts());
    CHECK(a.run(true) == a.run(false));
  }
}
