// SPDX-License-Identifier: MIT
// weights.hpp: a program's weights, packed for an isa into one arena.
#pragma once

#include <functional>
#include <span>

#include "../core/concat.hpp"
#include "../core/error.hpp"
#include "../core/function_ref.hpp"
#include "../core/plain_list.hpp"
#include "../core/tensor_source.hpp"
#include "arena.hpp"
#include "packed_layout.hpp"
#include "rank_link.hpp"
#include "team.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

using progress_callback = std::function<void(u64 done, u64 total)>;

// A program's packed weights in memory that the caller keeps: one after the other, as for_each_weight visits them.
struct packed_weights {
  std::span<const std::byte> memory;
  std::span<const u64> sizes;  // of each weight
};

// As messages and manifests call a weight: "layers.3.q", "header.embed", "layers.0.norm.1", "layers.0.q.bias".
inline std::string packed_name(const weight& w) {
  std::string at = w.where == place::header ? "header." : w.where == place::footer ? "footer." : "";
  if (w.where == place::body) at = concat({"layers.", w.layer, "."});
  at += name(w.slot.is);
  if (w.slot.nth) at += concat({".", w.slot.nth});
  return w.slot.bias ? at + ".bias" : at;
}

// The units of matrices that are packed, where not all are: the others' memory is never touched.
struct packed_units {
  bool (*has)(const program_data&, const weight&, u32 unit, const rank_link&) = nullptr;
  const program_data* program{};
  rank_link link{};
  bool operator()(const weight& w, u32 unit) const { return !has || has(*program, w, unit, link); }
};

struct weight_place;

class weights {
 public:
  // `p` and `names` outlive this. Throws tensor_missing, tensor_shape, tensor_dtype, tensor_unknown, out_of_memory.
  weights(const packed_layout& p, const tensor_source& from, std::string_view file, naming as,
          std::span<const name_rule> names, team& threads, const progress_callback& progress, bool huge_pages = true,
          const packed_units& own = {});

  // Takes over packed weights without a copy. Throws malformed, with the name of `file`, unless their sizes, and what
  // kernels find their way by, are those of this program.
  weights(const packed_layout& p, const packed_weights& from, std::string_view file);

  // The packed weights of a row of blocks: header 0, layer l in l + 1, footer last.
  const std::byte* const* row(u32 r) const { return &table_[u64{r} * max_slots]; }
  const packed_layout& layout() const { return layout_; }
  u32 rows() const { return layout_.program->layers + 2; }
  u64 bytes() const { return packed_.size(); }
  std::span<const std::byte> memory() const { return packed_; }
  // f(weight, its packed bytes), in the order of memory().
  void each(function_ref<void(const weight&, std::span<const std::byte>)> f) const;

 private:
  void tie();
  void place_next(const weight& w, plain_list<u32>& next, const std::byte* at);
  bool is_whole(const weight& w, std::span<const std::byte> bytes) const;
  u64 touched_of(const weight& w, const packed_units& own) const;
  u64 pack_transposed(const weight_place& at, std::byte* to, team& threads, const packed_units& own) const;
  u64 pack(const weight_place& at, std::byte* to, team& threads, const packed_units& own,
           function_ref<void(u32 tensor, std::span<const std::byte>)> drop) const;

  packed_layout layout_;
  arena memory_;  // empty if the caller keeps the packed weights
  std::span<const std::byte> packed_;
  plain_list<u64> sizes_;
  plain_list<const std::byte*> table_;  // [rows][max_slots]
};

}  // namespace cke::runtime
CKE_COLD_END

#ifndef CKE_COMPILED
#include "weights-inl.hpp"
#endif
