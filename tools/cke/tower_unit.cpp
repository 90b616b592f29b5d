// SPDX-License-Identifier: MIT
// tower_unit.cpp: see tower_unit.hpp.
#include "tower_unit.hpp"

#include <cke/config_check.hpp>
#include <cke_towers.hpp>  // written by the build: every family in cke/models/towers

#include "literal.hpp"
#include "rooms.hpp"
#include "unit_formats.hpp"

namespace cke::tool {
namespace {

// Loading checks every tensor; this spares a compilation that cannot end well, and bounds its size: numbers that no
// matrix of the file confirms never reach the compiler.
template <class Family> void check_tower_matrices(const checkpoint& from, const typename Family::config& c) {
  const auto check = [&](place where, role is, u32 layer, u64 rows, u64 columns) {
    const auto [name, t] = tensor_in_file(from, name_of(Family::names, where, {.is = is}).in(from.as), layer);
    u64 found = 1;
    for (u32 i = 1; t && i < t->shape.size(); ++i)
      if (!checked_mul(found, t->shape[i], found)) found = 0;
    if (!t || t->shape.empty() || t->shape[0] != rows || (columns && found != columns))
      throw Error(
          t ? errc::tensor_shape : errc::tensor_missing, from.name, "tensor " + name,
          std::to_string(rows) + " rows of " + (columns ? std::to_string(columns) : "any") + " numbers by the config",
          t ? shape_text(t->shape) : "none");
  };
  if constexpr (requires { Family::patch_numbers(c); })
    check(place::header, role::patch, 0, c.dim, Family::patch_numbers(c));
  else check(place::header, role::embed, 0, c.vocab, c.dim);
  for (u32 layer = 0; layer < c.layers; ++layer) check(place::body, role::up, layer, c.hidden, c.dim);
}

template <class Family> std::vector<file_matrix> matrices_of(const checkpoint& from, u32 layers) {
  std::vector<file_matrix> out;
  for (const name_rule& rule : Family::names) {
    if (rule.is == role::positions || rule.is == role::norm || rule.is == role::probe) continue;
    const spellings& names = rule.in(from.as);
    const bool counted = names[0].counts_taps;  // taps are as their first one
    for (u32 layer = 0; layer < (rule.where == place::body ? layers : 1u); ++layer) {
      const tensor_ref* const t = tensor_in_file(from, names, counted ? 0 : layer).tensor;
      if (!t || t->shape.size() < 2) continue;
      u64 width = 1;
      for (u32 i = 1; i < t->shape.size(); ++i)
        if (!checked_mul(width, t->shape[i], width)) width = 0;
      out.push_back({{.is = rule.is, .nth = rule.nth, .quantisable = true, .cols = static_cast<u32>(width)}, layer, t});
    }
  }
  return out;
}

template <class Family> unit tower_unit_of(const checkpoint& from, const unit_options& options) {
  rope_factors factors;
  const auto config = config_of<Family>(from, factors);
  check_tower_matrices<Family>(from, config);
  const auto matrices = matrices_of<Family>(from, config.layers);
  const format stored = options.format.empty() ? stored_format(from, matrices, config.layers, false)
                                               : format_named(options.format, from, matrices, config.layers, false);
  unit u;
  u.door = door_kind::tower;
  u.family = Family::name;
  u.type = std::string(Family::type_name) + '<' + literal(config, Family::keys) + '>';
  u.format = stored.name;
  u.mixes_formats = stored.name == "mixed";
  u.kv = kv_of(options.kv, stored);
  u.text = "// Written by cke: a tower's type, as numbers.\n#include <cke/export_tower.hpp>\n#include <" +
      std::string(card_of<Family>) + ">\nusing tower = " + u.type + ";\n" + stored.declared +
      "CKE_EXPORT_TOWER(tower, " + stored.policy + ", cke::dtype::" + std::string(info(u.kv).name) + ");\n";
  return u;
}

struct tower_row {
  std::string_view name;
  unit (*unit_of)(const checkpoint&, const unit_options&);
};
template <class... Families> constexpr std::array<tower_row, sizeof...(Families)> tower_rows_of(list<Families...>) {
  return {tower_row{Families::name, tower_unit_of<Families>}...};
}
constexpr auto tower_rows = tower_rows_of(towers{});

}  // namespace

unit make_tower_unit(const checkpoint& from, const unit_options& options) {
  std::string known;
  for (const tower_row& row : tower_rows) {
    if (row.name == from.model_type) return row.unit_of(from, options);
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  throw Error(errc::unsupported, from.name, "vision tower", "one of " + known, from.model_type);
}

}  // namespace cke::tool
