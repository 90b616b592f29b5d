// SPDX-License-Identifier: MIT
// unit.cpp: see unit.hpp.
#include "unit.hpp"

#include <algorithm>
#include <vector>

#include <cke/config_check.hpp>
#include <cke_families.hpp>  // written by the build: every family in cke/models

#include "facts.hpp"
#include "literal.hpp"
#include "rooms.hpp"
#include "unit_formats.hpp"

namespace cke::tool {
namespace {

std::string include(std::string_view header) { return "#include <" + std::string(header) + ">\n"; }

// Loading checks every tensor; this spares a compilation that cannot end well, and bounds its size: numbers
// that no matrix of the file confirms never reach the compiler.
template <class Family> void check_matrices(const checkpoint& from, const typename Family::config& c) {
  using matrix = layer_matrix;
  const auto check = [&](place where, u32 layer, const auto& all, const matrix& m) {
    const name_rule& rule = name_of(Family::names, where, {.is = m.is});
    const spellings& names = rule.in(from.as);
    const auto [name, t] = tensor_in_file(from, names, layer);
    u64 rows = 0;  // of all that share the tensor
    for (const matrix& other : all) {
      const auto with = tensor_in_file(from, name_of(Family::names, where, {.is = other.is}).in(from.as), layer);
      rows += with.name == name ? other.rows : 0;
    }
    tensor_shape wanted{rows, m.cols ? m.cols : c.dim};
    if (of_experts(m.is) && t && t->shape.size() == 3) wanted = {Family::shape(c).experts, wanted[0], wanted[1]};
    tensor_shape turned = wanted;  // that of experts' matrices in files that may have them transposed
    if (wanted.size() == 3 && rule.in_file(from.as) == change::transposed) std::swap(turned[1], turned[2]);
    if (!t || (t->shape != wanted && t->shape != turned))
      throw Error(t ? errc::tensor_shape : errc::tensor_missing, from.name, "tensor " + name,
                  shape_text(wanted) + " by the config", t ? shape_text(t->shape) : "none");
  };
  const matrix embed{role::embed, c.vocab};
  check(place::header, 0, std::span(&embed, 1), embed);
  for (u32 layer = 0; layer < c.layers; ++layer) {
    const layer_matrices body = Family::matrices(c, layer);
    for (const matrix& m : body) check(place::body, layer, body, m);
  }
}

template <class Family> std::vector<file_matrix> matrices_of(const checkpoint& from, const typename Family::config& c) {
  std::vector<file_matrix> out;
  for (const name_rule& rule : Family::names) {
    if (&rule != &name_of(Family::names, rule.where, {.is = rule.is, .nth = rule.nth})) continue;  // a later one wins
    if (rule.is == role::conv || may_be_folded(rule.is) || (rule.is == role::head && c.tied)) continue;
    for (u32 layer = 0; layer < (rule.where == place::body ? c.layers : 1u); ++layer) {
      const tensor_ref* const t = tensor_in_file(from, rule.in(from.as), layer).tensor;
      if (!t || t->shape.size() < 2) continue;
      const auto width = static_cast<u32>(std::min<u64>(t->shape.back(), ~0u));
      out.push_back({{.is = rule.is, .nth = rule.nth, .quantisable = true, .cols = width}, layer, t});
    }
  }
  return out;
}

struct door_text {
  door_kind door;
  std::string_view header, macro, rest;  // rest: its last arguments
};
constexpr door_text door_texts[] = {
    {door_kind::model, "cke/export.hpp", "CKE_EXPORT_MODEL", ""},
    {door_kind::trainer, "cke/export_trainer.hpp", "CKE_EXPORT_TRAINER", ""},
    {door_kind::stepper, "cke/export_dump.hpp", "CKE_EXPORT_STEPPER", ""},
    {door_kind::fused_stepper, "cke/export_dump.hpp", "CKE_EXPORT_STEPPER", ", true"},
    {door_kind::bare, "cke/export_bare.hpp", "CKE_EXPORT_BARE", ""},
    {door_kind::ranked, "cke/export_ranks.hpp", "CKE_EXPORT_RANKS", ""},
};
// The text of a unit with another door, which may be its own.
std::string text_behind(door_kind kind, const unit& u, const unit_options& options) {
  const door_text& door = *std::ranges::find(door_texts, kind, &door_text::door);
  std::string text = "// Written by cke: a model's type, as numbers.\n" + include(door.header) + u.card + u.declared;
  text += std::string(door.macro) + "(model, " + u.policy;
  if (kind != door_kind::trainer) text += ", cke::dtype::" + std::string(info(u.kv).name);
  if (kind == door_kind::bare) text += ", " + literal(options.context) + ", cke::isa::" + options.isa;
  return text + std::string(door.rest) + ");\n";
}

template <class Family> unit unit_of(const checkpoint& from, const unit_options& options) {
  rope_factors factors;
  auto config = config_of<Family>(from, factors);
  if (!options.from_nothing) check_matrices<Family>(from, config);
  const auto matrices = matrices_of<Family>(from, config);
  const format stored = options.format.empty()
      ? stored_format(from, matrices, config.layers, config.tied)
      : format_named(options.format, from, matrices, config.layers, config.tied);
  unit u;
  u.family = Family::name;
  u.type = std::string(Family::type_name) + '<' + literal(config, Family::keys) + '>';
  u.format = stored.name;
  u.mixes_formats = stored.name == "mixed";
  u.kv = kv_of(options.kv, stored);
  u.max_position = config.rope.max_position;
  u.door = options.door;
  u.card = include(card_of<Family>), u.policy = stored.policy;
  if (config.rope.factors)
    u.declared += "inline constexpr cke::rope_factors factors{\n    " +
        literal_list(factors.longs, factors.long_count) + ",\n    " +
        literal_list(factors.shorts, factors.short_count) + ",\n    " + literal(factors.long_count) + ", " +
        literal(factors.short_count) + "};\n";
  u.declared += "using model = " + u.type + ";\n" + stored.declared;
  u.text = text_behind(u.door, u, options);
  return u;
}

// As a program spells a preset, without "cke::".
template <class Preset> constexpr std::string_view preset_name() {
  constexpr std::string_view text = __PRETTY_FUNCTION__, before = "Preset = cke::";
  constexpr std::size_t begin = text.find(before) + before.size();
  return text.substr(begin, text.find_first_of(";]", begin) - begin);
}
template <class Presets> struct names_of_presets;
template <class... Presets> struct names_of_presets<list<Presets...>> {
  static constexpr std::string_view all[]{preset_name<Presets>()...};
};

struct family_row {
  known_family known;
  std::string_view gguf;  // what the reader of GGUF calls it
  bool (*is_of)(std::string_view, json, naming);
  unit (*unit_of)(const checkpoint&, const unit_options&);
  model_facts (*facts_of)(const checkpoint&);
  void (*check_written)(const checkpoint& from, const checkpoint& written);
};
template <class Family> constexpr family_row row() {
  return {{name_in<Family>(naming::hf), architecture_of<Family>(), names_of_presets<typename Family::presets>::all},
          name_in<Family>(naming::gguf),
          is_of<Family>,
          unit_of<Family>,
          facts_of<Family>,
          check_written<Family>};
}
template <class... Families> constexpr std::array<family_row, sizeof...(Families)> family_rows_of(list<Families...>) {
  return {row<Families>()...};
}
constexpr auto family_rows = family_rows_of(cke::families{});

const family_row& family_of(const checkpoint& from) {
  std::string known;
  for (const family_row& f : family_rows) {
    const std::string_view name = from.as == naming::hf ? f.known.model_type : f.gguf;
    if (f.is_of(from.model_type, json{from.config}, from.as)) return f;
    const bool again =
        (", " + known + ", ").find(concat({", ", name, ", "})) != known.npos;  // families may share an architecture
    if (!name.empty() && !again) known += (known.empty() ? "" : ", ") + std::string(name);
  }
  throw Error(errc::unsupported, from.name, "model type", "one of " + known,
              from.model_type.empty() ? "none" : from.model_type);
}

}  // namespace

std::vector<known_family> known_families() {
  std::vector<known_family> all;
  for (const family_row& f : family_rows) all.push_back(f.known);
  return all;
}
unit make_unit(const checkpoint& from, const unit_options& options) { return family_of(from).unit_of(from, options); }
std::string text_of_model(const unit& u) { return text_behind(door_kind::model, u, {}); }
model_facts facts_of(const checkpoint& from) { return family_of(from).facts_of(from); }
void check_written(const checkpoint& from, const checkpoint& written) { family_of(from).check_written(from, written); }

}  // namespace cke::tool
