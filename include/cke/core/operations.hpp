// SPDX-License-Identifier: MIT
// operations.hpp: the parameter block of an instruction, and the table of all operations, built from their statements.
#pragma once

#include <array>

#include "operations/experts.hpp"
#include "operations/heads.hpp"
#include "operations/latent.hpp"
#include "operations/letters.hpp"
#include "operations/linear.hpp"
#include "operations/recurrent.hpp"
#include "operations/rows.hpp"
#include "operations/towers.hpp"

namespace cke {

// Every kind of parameter block, once.
// clang-format off
#define CKE_BLOCKS(X)                                                                                          \
  X(row_params) X(embedding_params) X(norm_params) X(scale_params) X(softcap_params) X(act_params)             \
  X(matmul_params) X(matmul_act_params) X(qkv_params) X(head_norm_params) X(rope_params)                       \
  X(head_norm_rope_params) X(kv_store_params) X(attention_params) X(latent_key_params) X(split_heads_params)   \
  X(head_matmul_params) X(route_params) X(gather_params) X(expert_params) X(expert_sum_params) X(conv_params)  \
  X(conv_act_params) X(delta_params) X(scan_params) X(positions_params) X(merge_params) X(pool_params)   \
  X(affine_params) X(scatter_params)
// clang-format on

#define CKE_BLOCK(block) of_##block,
enum class block_kind : u8 { none, CKE_BLOCKS(CKE_BLOCK) };
#undef CKE_BLOCK

template <class Block> inline constexpr block_kind kind_of = block_kind::none;
#define CKE_BLOCK(block) template <> inline constexpr block_kind kind_of<block> = block_kind::of_##block;
CKE_BLOCKS(CKE_BLOCK)
#undef CKE_BLOCK

// ADR 0001's ParamBlock, version 1: at most 256 bytes of plain data: a block and its kind.
class params {
 public:
  constexpr params() : none_{} {}
#define CKE_BLOCK(block) \
  constexpr params(const block& b) : block##_(b), kind_(block_kind::of_##block) {}
  CKE_BLOCKS(CKE_BLOCK)
#undef CKE_BLOCK

  constexpr block_kind kind() const { return kind_; }

  // The block, if it is of this kind; another one does not compile, or throws at run time.
  template <class Block> constexpr const Block& as() const {
    if (kind_ != kind_of<Block>) constant_error("cke: params: an instruction has another kind of parameter block");
    return get<Block>();
  }
  // The same without a check: the caller has made sure of the kind.
  template <class Block> constexpr const Block& get() const {
    if constexpr (std::is_same_v<Block, no_block>) return none_;
#define CKE_BLOCK(block) else if constexpr (std::is_same_v<Block, block>) return block##_;
    CKE_BLOCKS(CKE_BLOCK)
#undef CKE_BLOCK
  }
  // Calls f(block).
  template <class F> constexpr decltype(auto) visit(F&& f) const {
    switch (kind_) {
#define CKE_BLOCK(block) \
  case block_kind::of_##block: return f(block##_);
      CKE_BLOCKS(CKE_BLOCK)
#undef CKE_BLOCK
      default: return f(none_);
    }
  }
  constexpr bool operator==(const params& o) const {
    return kind_ == o.kind_ &&
        visit([&](const auto& mine) { return mine == o.get<std::remove_cvref_t<decltype(mine)>>(); });
  }

 private:
  union {  // first, so that a block is where its params are
    no_block none_;
#define CKE_BLOCK(block) block block##_;
    CKE_BLOCKS(CKE_BLOCK)
#undef CKE_BLOCK
  };
  block_kind kind_{};
};
#undef CKE_BLOCKS
inline constexpr u8 param_block_version = 1;
static_assert(sizeof(params) <= 256 && alignof(params) <= 8 && std::is_trivially_copyable_v<params>);

// Units of a step that is cut by heads; 0: it is not cut by heads.
constexpr u32 head_units(const params& p) {
  return p.visit([](const auto& b) -> u32 {
    if constexpr (requires { b.head_units(); }) return b.head_units();
    else return 0;
  });
}
// The rope that a step's cos and sin are computed for.
constexpr turned_head turned(const params& p) {
  return p.visit([](const auto& b) -> turned_head {
    if constexpr (requires { b.turned(); }) return b.turned();
    else return {};
  });
}
// The side of the windows of patches that a step's rows see; 0: all of their image.
constexpr u32 window_of_patches(const params& p) {
  if (p.kind() != kind_of<attention_params>) return 0;
  const auto& a = p.get<attention_params>();
  return a.bidirectional && a.window != everything ? a.window : 0;
}
// The activation that its kernel is compiled for, if it has one.
constexpr activation activation_of(const params& p) {
  return p.visit([](const auto& b) -> activation {
    if constexpr (requires { b.act; }) return b.act;
    else return {};
  });
}

// ---- the table -------------------------------------------------------------------------------------

struct op_info : op_facts {
  opcode op = opcode::none;
  block_kind block{};  // none: a letter
};

namespace detail {

inline constexpr u32 opcode_limit = 128;  // opcodes below it may be operations

template <class Is> struct all_operations;
template <std::size_t... I> struct all_operations<std::index_sequence<I...>> {
  // Indexed by number; a row without a name is not an operation.
  static constexpr op_info rows[sizeof...(I)]{
      {operation<opcode{I}>::facts, opcode{I}, kind_of<typename operation<opcode{I}>::params>}...};
  static constexpr u32 count = [] {
    u32 n = 0;
    for (const op_info& row : rows) n += !row.name.empty();
    return n;
  }();
};
using operation_table = all_operations<std::make_index_sequence<opcode_limit>>;

}  // namespace detail

// Every operation once, by number.
inline constexpr auto ops = [] {
  std::array<op_info, detail::operation_table::count> all{};
  u32 n = 0;
  for (const op_info& row : detail::operation_table::rows)
    if (!row.name.empty()) all[n++] = row;
  return all;
}();

constexpr bool is_operation(opcode op) {
  return static_cast<u8>(op) < detail::opcode_limit && !detail::operation_table::rows[static_cast<u8>(op)].name.empty();
}
constexpr const op_info& info(opcode op) {
  if (!is_operation(op)) constant_error("cke: opcode: an opcode that is no operation");
  return detail::operation_table::rows[static_cast<u8>(op)];
}
constexpr std::string_view name(opcode op) { return info(op).name; }

// The parameter block of an operation.
template <opcode Op> using params_of = typename operation<Op>::params;

// ---- the block of a fused operation, from those of its parts --------------------------------------

namespace detail {
template <class Block, class... Parts, std::size_t... I>
constexpr params fuse_parts(Block (*fuse)(const Parts&...), const params* parts, std::index_sequence<I...>) {
  return fuse(parts[I].as<Parts>()...);
}
template <class Block, class... Parts> constexpr params fuse_parts(Block (*fuse)(const Parts&...),
                                                                   const params* parts) {
  return fuse_parts(fuse, parts, std::index_sequence_for<Parts...>{});
}
}  // namespace detail

template <opcode Op> constexpr params fused_params(const params* parts) {
  if constexpr (requires { operation<Op>::fuse; }) return detail::fuse_parts(operation<Op>::fuse, parts);
  else return parts[0];
}

}  // namespace cke
