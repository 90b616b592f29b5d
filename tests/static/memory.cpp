// SPDX-License-Identifier: MIT
// memory.cpp: the reference engine's memory map recomputed, ours beside it, and the planner's proof for every preset.
#include "../graph/disjoint.hpp"
#include "cke/graph/program.hpp"
#include "presets.hpp"

using namespace cke;
using namespace cke::graph;

namespace {

// ---- the reference engine's map of Qwen3-0.6B Q8_0 for a context of 1024 --------------------------

struct seed_map {
  u64 text, tokens, stream, kv, rope, q, k, q_gate, gate, attn, mlp, logits;
  constexpr u64 total() const {
    return text + tokens + 4 * stream + kv + rope + q + 2 * k + q_gate + gate + attn + mlp + logits;
  }
};

// Every buffer is sized for the whole context, and is nobody else's: liveness is not used.
template <class P> constexpr seed_map seed_activations(const attention_options& a, u32 hidden, u64 context) {
  const u64 f32 = 4, q = f32 * context * a.heads * a.head_dim;
  return {.text = 16 * context,
          .tokens = 4 * context,
          .stream = f32 * context * a.dim,
          .kv = f32 * P::layers * 2 * a.kv_heads * context * a.head_dim,
          .rope = f32 * 2 * context * (a.rope.dims / 2),
          .q = q,
          .k = f32 * context * a.kv_heads * a.head_dim,
          .q_gate = 2 * q,
          .gate = q,
          .attn = q,
          .mlp = f32 * context * (3 * hidden + a.dim),
          .logits = f32 * context * P::vocab};
}

// A layer as it stores one: each matrix with a zero f32 bias; two matrices of one step have one.
template <class P> constexpr u64 seed_layer_bytes() {
  const code& c = P::template body<0>();
  u64 n = 0;
  for (u32 i = 0; i < c.slots.size(); ++i)
    n += bytes_of(c.formats[i], c.slots[i].elements()) + (c.slots[i].quantisable ? 4u * c.slots[i].rows : 0u);
  return n;
}

using model = Qwen3_0_6B;
using ours = program<model, Q8_0>;
constexpr u64 context = 1024, norm = 4 * 1024;
constexpr seed_map seed = seed_activations<ours>(qwen3_attend(model::config), model::config.hidden, context);

static_assert(seed.text == 16'384 && seed.tokens == 4'096 && seed.stream == 4'194'304 && seed.kv == 234'881'024);
static_assert(seed.rope == 524'288 && seed.q == 8'388'608 && seed.k == 4'194'304 && seed.q_gate == 16'777'216);
static_assert(seed.gate == 8'388'608 && seed.attn == 8'388'608 && seed.mlp == 41'943'040 && seed.logits == 622'329'856);
static_assert(seed.total() == 966'807'552);

constexpr u64 token_embedding = bytes_of(dtype::q8_0, 151'936 * 1'024),
              tokenizer = 4'711'434;  // the size of its blob is given
static_assert(token_embedding == 165'306'368 && seed_layer_bytes<ours>() == 16'770'048);
constexpr u64 seed_weights = token_embedding + tokenizer + 28 * seed_layer_bytes<ours>() + 2 * norm;
static_assert(seed_weights == 639'587'338 && seed_weights + seed.total() == 1'606'394'890);

// The operands of its step 4, q_proj of the first layer.
constexpr u64 wq = token_embedding + tokenizer + 2 * norm, layer_input = seed.text + seed.tokens + seed.stream;
static_assert(wq == 170'025'994 && wq + bytes_of(dtype::q8_0, 2048 * 1024) == 172'254'218);
static_assert(layer_input == 4'214'784 && layer_input + 2 * seed.stream + seed.kv + seed.rope == 248'008'704);

// ---- ours ------------------------------------------------------------------------------------------

// The same work: the whole context in one pass, logits of the last row, the cache in f32 as there.
constexpr capacity whole{.context = context, .chunk = context, .logit_rows = 1};
constexpr u64 activation_bytes = ours::activations(whole).total + ours::state_bytes(whole, dtype::f32);
static_assert(activation_bytes * 5 / 2 <= seed.total());
// Without the caches, which are of one size everywhere, less than a thirtieth.
static_assert(ours::activations(whole).total * 30 <= seed.total() - seed.kv);
// One row of logits, a stream, and what a layer passes on.
static_assert(ours::activations({.context = context, .chunk = 1}).total < 640'000);
static_assert(ours::state_bytes(whole, dtype::f32) == seed.kv);

// ---- every preset -----------------------------------------------------------------------------------

constexpr bool aligned(const layout& l) {
  for (u32 r = 0; r < max_regs; ++r)
    if (l.offset[r] % 64 || l.bytes[r] % 64) return false;
  return l.shared % 64 == 0 && l.per_thread % 64 == 0;
}
constexpr bool sound(const code& c) {
  for (const form f : {form::decode, form::prefill}) {
    const layout l = place_registers(c, f, f == form::decode ? decode_rows : 100);
    if (!aligned(l) || !disjoint(c, f, l)) return false;
  }
  return true;
}
template <class P> constexpr bool sound_program() {
  for (const code* c : P::bodies)
    if (!sound(*c)) return false;
  bool good = sound(P::header_code()) && sound(P::footer_code());
  P::for_each_weight([&](const weight& w) { good = good && w.offset % 64 == 0; });
  P::for_each_state(dtype::bf16,
                    [&](const state_descriptor& d) { good = good && d.offset % 64 == 0 && d.align == 64; });
  return good;
}
template <class P> constexpr bool is_sound =
    sound_program<P>();  // each a constant of its own: compilers limit their steps
template <class Formats, class... Ms> constexpr bool all_sound(list<Ms...>) {
  return (... && (is_sound<program<Ms, Formats>> && is_sound<program<Ms, Formats, false>>));
}
static_assert(all_sound<Q8_0>(presets{}));
static_assert(all_sound<BF16>(list<Qwen3_0_6B, Llama_3_2_1B, SmolLM2_135M>{}));
static_assert(all_sound<F32>(list<Qwen3_0_6B, Llama_3_2_1B, SmolLM2_135M>{}));

// A layout that is wrong is seen: every register at the start of its area.
constexpr bool sees_overlap = [] {
  const code& c = ours::body<0>();
  layout l = place_registers(c, form::prefill, 100);
  for (u64& at : l.offset) at = 0;
  return !disjoint(c, form::prefill, l);
}();
static_assert(sees_overlap);

}  // namespace
