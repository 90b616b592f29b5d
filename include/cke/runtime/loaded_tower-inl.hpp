// SPDX-License-Identifier: MIT
// loaded_tower-inl.hpp: how the tower of loaded_tower.hpp is loaded, and encodes images.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "loaded_tower.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

CKE_ONCE loaded_tower::loaded_tower(const compiled_program& m, const tensor_source& tensors, std::string_view file,
                                    naming as, std::span<const name_rule> names, const tower_options& o)
    : m_(m),
      p_(*m.program),
      threads_((o.validate(), o.threads ? o.threads : default_threads())),
      packed_(m.packed(), tensors, file, as, names, threads_, o.progress) {
  if (o.patches) plan_for(o.patches);
}

CKE_ONCE u32 loaded_tower::rows_of(const program_data& p, patch_grid g) {
  const u32 merged = p.output().tokens;
  const auto fail = [&](std::string_view want) {
    throw Error(errc::usage, {}, "grid of patches", want, concat({g.height, " x ", g.width}));
  };
  if (g.height == 0 || g.width == 0 || u64{g.height} * g.width > tower_options::most_patches)
    fail(concat({"1 to ", tower_options::most_patches, " patches"}));
  if (g.height % p.merge_side() || g.width % p.merge_side())
    fail(concat({"rows and columns that are multiples of ", p.merge_side()}));
  for (const instruction& i : p.header->ops) {
    if (i.op != opcode::learned_positions) continue;
    const auto& table = i.p.as<positions_params>();
    if (table.rule == position_rule::sequence) {
      if (g.height != 1 || g.width > table.rows) fail(concat({"1 x at most ", table.rows}));
      continue;
    }
    const u32 side = whole_root(table.rows);
    if (table.rule == position_rule::raster && (g.height != side || g.width != side))
      fail(concat({side, " x ", side, ", as the table of positions"}));
    if (table.rule == position_rule::by_axis && std::max(g.height, g.width) > table.rows / 2)
      fail(concat({"at most ", table.rows / 2, " rows and columns"}));
  }
  if (g.patches() % merged) fail(concat({"a multiple of ", merged}));
  return g.patches() / merged;
}

CKE_ONCE void loaded_tower::encode(const image_values& image, std::span<float> features) {
  const u32 vocab = p_.vocab(), width = feature_width(p_);
  const u64 needed = u64{rows_of(p_, image.grid)} * width;
  image.check(p_.patch_width());
  if (p_.reads_text()) check_ids(image.rows);
  if (features.size() != needed)
    throw Error(errc::usage, {}, "features", concat({needed, " numbers"}), concat({features.size()}));
  const std::lock_guard turn(busy_);
  if (!executor_ || executor_->limits().chunk < image.grid.patches()) plan_for(image.grid.patches());
  const patch_grid g = image.grid;
  const patch_order& order = executor_->order();
  const auto [rows, beside, count] =
      executor_->encode(g, [&](patch_place at, float* to) { image.write(order.number_of(g, at), at, to); });
  for (u32 r = 0; r < count; ++r) {
    const u32 number = order.number_of(g, order.place_of(g, r * p_.output().tokens)) / p_.output().tokens;
    float* const out = &features[u64{number} * width];
    std::copy_n(rows.row(r), vocab, out);
    std::copy_n(beside.row(r), width - vocab, out + vocab);
  }
}

CKE_ONCE void loaded_tower::check_ids(std::span<const float> ids) const {
  const u32 vocab = p_.header->ops[0].p.as<embedding_params>().rows;
  for (const float id : ids)
    if (!(id >= 0 && id < static_cast<float>(vocab)) || id != std::floor(id)) {
      char found[32];
      std::snprintf(found, sizeof found, "%.9g", static_cast<double>(id));
      throw Error(errc::token_range, {}, "token id", concat({"a whole number below ", vocab}), found);
    }
}

CKE_ONCE void loaded_tower::plan_for(u32 patches) {
  executor_.reset();
  executor_ = std::make_unique<executor<>>(m_, states_, packed_, threads_, capacity_for(patches));
}

}  // namespace cke::runtime
CKE_COLD_END
