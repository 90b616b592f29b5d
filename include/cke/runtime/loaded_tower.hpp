// SPDX-License-Identifier: MIT
// loaded_tower.hpp: a vision tower with its weights in memory.
#pragma once

#include <cmath>
#include <cstdio>
#include <memory>
#include <mutex>

#include "loaded.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

struct tower_options {
  u32 threads = 0;               // 0: the cores that the process may use
  u32 patches = 0;               // planned for at load; more are planned for when an image has them
  progress_callback progress{};  // weights packed, weights in all

  static constexpr u32 most_patches = 1 << 18;
  // Throws config_range.
  void validate() const {
    if (patches > most_patches)
      throw Error(errc::config_range, {}, "patches", concat({"at most ", most_patches}), concat({patches}));
    if (threads > team::max_threads)
      throw Error(errc::config_range, {}, "threads", concat({"at most ", team::max_threads}), concat({threads}));
  }
};

// Immutable, except for the activations. One image is encoded at a time, by all threads.
template <class P, dtype KV, class Isa> class loaded_tower {
 public:
  using program = P;
  static constexpr const compiled_program& compiled = compiled_program_of<P, KV, Isa, by_tables>;
  static_assert(P::is_tower, "cke: tower: the type is no tower; begin with tower<patch_embedding<...>, ...>");
  static constexpr u32 taps = P::tap_outputs.count, tap_width = P::tap_outputs.width;
  static constexpr u32 width = P::vocab + taps * tap_width;  // of a row of features

  // Throws config_range for the options, and what weights throws.
  loaded_tower(const tensor_source& tensors, std::string_view file, naming as, std::span<const name_rule> names,
               const tower_options& o)
      : threads_((o.validate(), o.threads ? o.threads : default_threads())),
        packed_(compiled.packed(), tensors, file, as, names, threads_, o.progress) {
    if (o.patches) plan_for(o.patches);
  }

  // Nothing of a pass depends on a context: rows see those of their own image.
  static constexpr capacity capacity_for(u32 patches) { return {key_block, patches, patches}; }

  u64 weight_bytes() const { return packed_.bytes(); }
  u64 activation_bytes() const { return executor_ ? executor_->bytes() : 0; }
  u32 threads() const { return threads_.size(); }

  // Rows of features that a grid of patches becomes. Throws usage for a grid that the tower cannot take.
  static u32 rows_of(patch_grid g) {
    const auto fail = [&](std::string_view want) {
      throw Error(errc::usage, {}, "grid of patches", want, concat({g.height, " x ", g.width}));
    };
    if (g.height == 0 || g.width == 0 || u64{g.height} * g.width > tower_options::most_patches)
      fail(concat({"1 to ", tower_options::most_patches, " patches"}));
    if (g.height % P::merge_side || g.width % P::merge_side)
      fail(concat({"rows and columns that are multiples of ", P::merge_side}));
    for (const instruction& i : P::header_code().ops) {
      if (i.op != opcode::learned_positions) continue;
      const auto& p = i.p.template as<positions_params>();
      if (p.rule == position_rule::sequence) {
        if (g.height != 1 || g.width > p.rows) fail(concat({"1 x at most ", p.rows}));
        continue;
      }
      const u32 side = whole_root(p.rows);
      if (p.rule == position_rule::raster && (g.height != side || g.width != side))
        fail(concat({side, " x ", side, ", as the table of positions"}));
      if (p.rule == position_rule::by_axis && std::max(g.height, g.width) > p.rows / 2)
        fail(concat({"at most ", p.rows / 2, " rows and columns"}));
    }
    if (g.patches() % P::merged) fail(concat({"a multiple of ", P::merged}));
    return g.patches() / P::merged;
  }

  // Writes the features of an image, [rows_of(grid)][width]: those of the last letters, then those of the deepstack
  // letters in the order of their layers. Throws usage, and out_of_memory for an image larger than those before.
  void encode(const image_values& image, std::span<float> features) {
    const u64 needed = u64{rows_of(image.grid)} * width;
    image.check(P::patch_width);
    if constexpr (P::reads_text) check_ids(image.rows);
    if (features.size() != needed)
      throw Error(errc::usage, {}, "features", concat({needed, " numbers"}), concat({features.size()}));
    const std::lock_guard turn(busy_);
    if (!executor_ || executor_->limits().chunk < image.grid.patches()) plan_for(image.grid.patches());
    const patch_grid g = image.grid;
    const patch_order& order = executor_->order();
    const auto [rows, beside, count] =
        executor_->encode(g, [&](patch_place at, float* to) { image.write(order.number_of(g, at), at, to); });
    for (u32 r = 0; r < count; ++r) {
      const u32 number = order.number_of(g, order.place_of(g, r * P::merged)) / P::merged;
      float* const out = &features[u64{number} * width];
      std::copy_n(rows.row(r), P::vocab, out);
      if constexpr (taps > 0) std::copy_n(beside.row(r), taps * tap_width, out + P::vocab);
    }
  }

 private:
  static void check_ids(std::span<const float> ids) {
    const u32 vocab = P::header_code().ops[0].p.template as<embedding_params>().rows;
    for (const float id : ids)
      if (!(id >= 0 && id < static_cast<float>(vocab)) || id != std::floor(id)) {
        char found[32];
        std::snprintf(found, sizeof found, "%.9g", static_cast<double>(id));
        throw Error(errc::token_range, {}, "token id", concat({"a whole number below ", vocab}), found);
      }
  }

  void plan_for(u32 patches) {
    executor_.reset();
    executor_ = std::make_unique<executor<>>(compiled, states_, packed_, threads_, capacity_for(patches));
  }

  team threads_;
  weights packed_;
  state_facts states_{};  // rows of an image leave none
  std::unique_ptr<executor<>> executor_;
  std::mutex busy_;
};

}  // namespace cke::runtime
CKE_COLD_END
