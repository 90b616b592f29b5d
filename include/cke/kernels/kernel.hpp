// SPDX-License-Identifier: MIT
// kernel.hpp: the inputs of a step, how it is cut into units, and how its kernel is found.
#pragma once

#include <span>

#include "../core/dtype.hpp"
#include "../core/isa.hpp"
#include "../core/operations.hpp"
#include "../core/role.hpp"

namespace cke::kernels {

// A register: [tokens][width]. f32 rows are `stride` floats apart; other types are operand tiles.
struct view {
  std::byte* data{};
  u32 width{}, stride{};
  dtype as = dtype::f32;
  float* row(u32 token) const { return reinterpret_cast<float*>(data) + u64{token} * stride; }
};

// Rows of a pass that belong to one sequence.
struct segment {
  u32 first{}, tokens{}, position{};  // position: of the first row
  std::byte* const* pages[2]{};       // of each key block: persistent and transient parts
  bool turned{};                      // rope's angles are those of the rows, not of the positions
};

// The state of one layer in a page of one or more blocks. A cache has, in each block, a block of each kv head, one
// after the other; a recurrent state follows the last block.
struct kv_place {
  u64 offset{}, block_bytes{};
  u32 blocks = 1;    // of a page
  bool transient{};  // which of segment::pages it is in
};

// cos and sin of every position of the context, [position][dims / 2], then those of each row of the pass whose position
// is beyond it; row 0 of the pass is at `beyond`.
struct rope_view {
  const float* cos{};
  const float* sin{};
  u32 context = ~u32{0}, beyond{};
};

// Places of the rows in a learned table of positions: row t takes rows index[t * count ...] of it, each times its
// weight.
struct table_rows {
  const u32* index{};
  const float* weight{};
  u32 count{};
};

struct work {
  view in[5]{}, out[5]{};
  const std::byte* weight[8]{};  // packed matrices and f32 vectors, in the order of the instruction
  kv_place kv{};
  rope_view rope{};
  table_rows positions{};
  const float* const* features{};  // [tokens]: of images; null: a token of the vocabulary
  const u32* visible{};            // [tokens]: position after the last that the row sees
  u32 tokens{};                    // rows of this pass, or of a step whose rows stand for several of them
  std::span<const segment> segments{};
  const u32* segment_of{};       // [tokens]
  std::span<const u32> tiles{};  // the rows that begin a tile: at most unit_tokens rows of one segment
  split by{};
  std::byte* scratch{};  // this thread's own; `scratch_bytes` of it
  u32 cut{};             // units of a kv head, when its attention is shared
  float* parts{};        // the partial results of its runs, of all threads
};

inline constexpr u32 unit_tokens = 16;  // token rows of a unit that is cut by tokens, and of a tile

// Tiles of a unit of attention: as many as it takes at once, while 64 units remain for threads to share.
constexpr u32 tiles_of_unit(const attention_params& p, u32 tiles) {
  const u32 most = attention_queries / (unit_tokens * p.shape.group());
  return std::max(1u, std::min(most, p.shape.kv_heads * tiles / 64));
}

// Rows of a matrix are packed in groups (those of a kv head); each group begins a unit.
constexpr u32 units_of_group(u32 group) { return ceil_div(group, unit_rows); }

// Units of a packed matrix.
constexpr u32 units_of_slot(const weight_slot& s) {
  const u32 group = s.group ? s.group : s.rows;
  return s.rows / group * units_of_group(group);
}

// Most experts that this many tokens can choose.
constexpr u32 most_experts(const router& r, u32 tokens) {
  return r.active * tokens < r.experts ? r.active * tokens : r.experts;
}

// Units of a step. Rows of several matrices on one input (q, k, v) are counted one after the other;
// gate and up count once.
constexpr u32 units_of(const params& p, split by, u32 tokens, u32 row_units, u32 tiles = 0) {
  switch (by) {
    case split::tokens: return ceil_div(tokens, unit_tokens);
    case split::kv_heads: return head_units(p);
    case split::tiles: return head_units(p) * ceil_div(tiles, tiles_of_unit(p.as<attention_params>(), tiles));
    case split::experts: return most_experts(p.as<expert_params>().route, tokens) * row_units;
    case split::rows: return row_units;
    default: return 1;
  }
}

// Tokens [first, last) of a unit that is cut by tokens; all of them in other cuts.
struct token_range {
  u32 first, last;
};
constexpr token_range tokens_of(const work& w, u32 unit) {
  if (w.by != split::tokens) return {0, w.tokens};
  const u32 last = (unit + 1) * unit_tokens;
  return {unit * unit_tokens, last < w.tokens ? last : w.tokens};
}
// Heads [first, last) of kv heads, likewise.
constexpr token_range kv_heads_of(const work& w, u32 unit, u32 kv_heads) {
  return w.by == split::kv_heads ? token_range{unit, unit + 1} : token_range{0, kv_heads};
}

// A kernel has `static void run(const params_of<Op>&, const work&, u32 unit)`, a template over the activation if it has
// one; T and More are kernel_types. If it uses `work::scratch`, `scratch_bytes(const params_of<Op>&, u32 tokens)` says
// how much for a pass of at most so many tokens. A kernel that an isa lacks is looked up in the isa's base.
template <opcode Op, dtype T, class Isa, dtype... More> struct kernel : kernel<Op, T, typename Isa::base, More...> {};
template <opcode Op, dtype T, dtype... More> struct kernel<Op, T, void, More...> {
  using missing = void;
  static void run(const params&, const work&, u32) {}  // keeps the error below the only one
};

template <opcode Op, dtype T, class Isa, dtype... More> struct dispatch : kernel<Op, T, Isa, More...> {
  static_assert(
      !requires { typename kernel<Op, T, Isa, More...>::missing; },
      "cke: dispatch: no kernel for this opcode, dtype and isa; specialise cke::kernels::kernel; "
      "see dispatch<opcode, dtype, isa>");
};

template <opcode Op, kernel_types T, class Isa> constexpr auto dispatched() {
  if constexpr (T.second == dtype::none) return std::type_identity<dispatch<Op, T.first, Isa>>{};
  else if constexpr (T.third == dtype::none) return std::type_identity<dispatch<Op, T.first, Isa, T.second>>{};
  else return std::type_identity<dispatch<Op, T.first, Isa, T.second, T.third>>{};
}
// The kernel of an operation as a table entry, the same for any block. A builder has checked that the block is Op's.
using kernel_entry = void (*)(const params&, const work&, u32 unit);
template <class Kernel, class Block, activation A> void enter(const params& p, const work& w, u32 unit) {
  if constexpr (requires { &Kernel::template run<A>; }) Kernel::template run<A>(p.get<Block>(), w, unit);
  else Kernel::run(p.get<Block>(), w, unit);
}
template <opcode Op, kernel_types T, class Isa> constexpr kernel_entry kernel_from_headers() {
  return &enter<typename decltype(dispatched<Op, T, Isa>())::type, params_of<Op>, T.act>;
}
// Bytes of `work::scratch` that the kernel uses.
template <opcode Op, kernel_types T, class Isa> constexpr u64 scratch_of(const params& p, u32 tokens) {
  using kernel = typename decltype(dispatched<Op, T, Isa>())::type;
  if constexpr (requires { &kernel::scratch_bytes; }) return kernel::scratch_bytes(p.get<params_of<Op>>(), tokens);
  else return 0;
}

using scratch_entry = u64 (*)(const params&, u32 tokens);

#ifdef CKE_COMPILED
// A kernel of the compiled part (compiled/kernels.cpp), which has those of the native isa with matrices in one format,
// and some more.
template <opcode Op, kernel_types T, class Isa> void compiled_kernel(const params&, const work&, u32 unit);
template <opcode Op, kernel_types T, class Isa> u64 compiled_scratch(const params&, u32 tokens);
// Steps whose matrices differ: q, k and v as Q4_K_M and Q5_K_M have them, in rows of whole and of other blocks.
inline constexpr kernel_types compiled_mixtures[]{{dtype::q4_k, dtype::q4_k, dtype::q6_k},
                                                  {dtype::q5_0, dtype::q5_0, dtype::q8_0},
                                                  {dtype::q5_k, dtype::q5_k, dtype::q6_k},
                                                  {dtype::q5_1, dtype::q5_1, dtype::q8_0}};
constexpr bool is_compiled_mixture(kernel_types t) {
  for (const kernel_types& m : compiled_mixtures)
    if (m.with(t.act) == t) return true;
  return false;
}
template <kernel_types T, class Isa> inline constexpr bool is_compiled =
    (T.second == dtype::none || is_compiled_mixture(T)) && std::is_same_v<Isa, isa::native>;

template <opcode Op, kernel_types T, class Isa> constexpr kernel_entry kernel_of() {
#ifdef CKE_COMPILED_KERNELS_ONLY  // set where the unit itself is not compiled for speed
  static_assert(is_compiled<T, Isa>,
                "cke: dispatch: the compiled part has no such kernel; compile this unit without it");
#endif
  if constexpr (is_compiled<T, Isa>) return &compiled_kernel<Op, T, Isa>;
  else return kernel_from_headers<Op, T, Isa>();
}
#else
template <opcode Op, kernel_types T, class Isa> constexpr kernel_entry kernel_of() {
  return kernel_from_headers<Op, T, Isa>();
}
#endif

// The same of scratch_of. A unit of the command knows no more of kernels than their names.
template <opcode Op, kernel_types T, class Isa> constexpr scratch_entry scratch_entry_of() {
#ifdef CKE_COMPILED_KERNELS_ONLY
  return &compiled_scratch<Op, T, Isa>;
#else
  return &scratch_of<Op, T, Isa>;
#endif
}

}  // namespace cke::kernels
