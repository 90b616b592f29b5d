// SPDX-License-Identifier: MIT
// unit.cpp: see unit.hpp.
#include "unit.hpp"

#include <algorithm>
#include <vector>

#include <cke/config_check.hpp>
#include <cke/graph/format_policy.hpp>
#include <cke/kernels/formats/convert.hpp>
#include <cke_families.hpp>  // written by the build: every family in cke/models

#include "facts.hpp"
#include "literal.hpp"
#include "rooms.hpp"

namespace cke::tool {
namespace {

std::string include(std::string_view header) { return "#include <" + std::string(header) + ">\n"; }

std::string shape_text(std::span<const u64> shape) {
  std::string out;
  for (const u64 n : shape) out += (out.empty() ? "" : ", ") + std::to_string(n);
  return '[' + out + ']';
}

// The first of a rule's tensors that the file has, else the first.
struct named_tensor {
  std::string name;
  const tensor_ref* tensor;
};
named_tensor tensor_in_file(const checkpoint& from, const spellings& names, u32 layer) {
  for (const spelling& name : names)
    if (const auto* t = from.tensors.find(tensor_name(name, false, layer, 0))) return {t->name, t};
  return {tensor_name(names[0], false, layer, 0), nullptr};
}

// Loading checks every tensor; this spares a compilation that cannot end well, and bounds its size: numbers
// that no matrix of the file confirms never reach the compiler.
template <class Family> void check_matrices(const checkpoint& from, const typename Family::config& c) {
  using matrix = layer_matrix;
  const auto check = [&](place where, u32 layer, const auto& all, const matrix& m) {
    const spellings& names = name_of(Family::names, where, {.is = m.is}).in(from.as);
    const auto [name, t] = tensor_in_file(from, names, layer);
    u64 rows = 0;  // of all that share the tensor
    for (const matrix& other : all) {
      const auto with = tensor_in_file(from, name_of(Family::names, where, {.is = other.is}).in(from.as), layer);
      rows += with.name == name ? other.rows : 0;
    }
    tensor_shape wanted{rows, m.cols ? m.cols : c.dim};
    if (of_experts(m.is) && t && t->shape.size() == 3) wanted = {Family::shape(c).experts, wanted[0], wanted[1]};
    if (!t || t->shape != wanted)
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

// A matrix of the model, and the tensor of the file that it is.
struct file_matrix {
  weight_slot slot;
  u32 layer;
  const tensor_ref* tensor;
};
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

struct format_row {
  std::string_view name, policy;
  dtype (*of)(const weight_slot&, u32 layer, u32 layers, bool tied);
};
constexpr format_row formats[] = {{"f32", "cke::F32", F32::of},
                                  {"f16", "cke::F16", F16::of},
                                  {"bf16", "cke::BF16", BF16::of},
                                  {"q8_0", "cke::Q8_0", Q8_0::of},
                                  {"i8", "cke::I8", I8::of},
                                  {"i4", "cke::I4", I4::of},
                                  {"q4_0", "cke::Q4_0", Q4_0::of},
                                  {"q4_k_m", "cke::Q4_K_M", Q4_K_M::of},
                                  {"q5_k_m", "cke::Q5_K_M", Q5_K_M::of},
                                  {"q6_k", "cke::Q6_K", Q6_K::of}};
constexpr dtype kv_types[] = {dtype::f32, dtype::f16, dtype::bf16, dtype::q8_0};

template <class List, class Name> std::string listed(const List& list, Name name) {
  std::string out;
  for (const auto& item : list) out += (out.empty() ? "" : ", ") + std::string(name(item));
  return out;
}
std::string_view name_of_type(dtype t) { return info(t).name; }

// How weights are kept: a policy, and what has to be declared for it.
struct format {
  std::string name, policy, declared;
};

format format_named(std::string_view name, const checkpoint& from, const std::vector<file_matrix>& all, u32 layers,
                    bool tied) {
  for (const format_row& f : formats) {
    if (f.name != name) continue;
    for (const file_matrix& m : all)  // nothing is rounded to types that are not convertible
      if (const dtype t = f.of(m.slot, m.layer, layers, tied); !kernels::rounds_to(t) && m.tensor->type != t)
        throw Error(errc::tensor_dtype, from.name, "tensor " + m.tensor->name, info(t).name, m.tensor->stored);
    return {std::string(f.name), std::string(f.policy), {}};
  }
  throw Error(errc::usage, {}, "--format", "one of " + listed(formats, [](const format_row& f) { return f.name; }),
              name);
}

// What a tensor is kept in unless something is asked for: floats of 8 bits and their scales fit best into bf16.
dtype kept_type(const file_matrix& m) { return m.tensor->type == dtype::f8_e4m3 ? dtype::bf16 : m.tensor->type; }

// The policy that the file follows, else a table of its matrices.
format stored_format(const checkpoint& from, const std::vector<file_matrix>& all, u32 layers, bool tied) {
  for (const file_matrix& m : all)
    if (std::ranges::find(weight_types, kept_type(m)) == std::end(weight_types))
      throw Error(errc::unsupported, from.name, "tensor " + m.tensor->name,
                  "one of " + listed(weight_types, name_of_type), m.tensor->stored);
  for (const format_row& f : formats)
    if (std::ranges::all_of(all, [&](const file_matrix& m) {
          const dtype t = f.of(m.slot, m.layer, layers, tied);
          const bool stays_wide = t == dtype::f32 && (m.slot.cols % 32 != 0 || !narrows(m.slot));  // widened, exactly
          return t == kept_type(m) || (stays_wide && m.tensor->type != dtype::q8_0);
        }))
      return {std::string(f.name), std::string(f.policy), {}};
  std::string table;
  for (std::size_t i = 0; i < all.size();) {
    const file_matrix& m = all[i];
    u32 end = m.layer;
    for (; i < all.size() && all[i].slot.is == m.slot.is && kept_type(all[i]) == kept_type(m); ++i)
      end = all[i].layer + 1;
    table += "    {cke::role::" + std::string(name(m.slot.is)) + ", " + std::to_string(m.layer) + ", " +
        std::to_string(end) + ", cke::dtype::" + std::string(info(kept_type(m)).name) + "},\n";
  }
  return {"mixed", "cke::stored_formats<stored>", "inline constexpr cke::stored_matrices stored[]{\n" + table + "};\n"};
}

dtype kv_named(std::string_view name) {
  for (const dtype t : kv_types)
    if (info(t).name == name) return t;
  throw Error(errc::usage, {}, "--kv", "one of " + listed(kv_types, name_of_type), name);
}

template <class Family> unit unit_of(const checkpoint& from, const unit_options& options) {
  rope_factors factors;
  auto config = config_of<Family>(from, factors);
  check_matrices<Family>(from, config);
  const auto matrices = matrices_of<Family>(from, config);
  const format stored = options.format.empty()
      ? stored_format(from, matrices, config.layers, config.tied)
      : format_named(options.format, from, matrices, config.layers, config.tied);
  unit u;
  u.family = Family::name;
  u.type = std::string(Family::type_name) + '<' + literal(config, Family::keys) + '>';
  u.format = stored.name;
  u.mixes_formats = stored.name == "mixed" || stored.name == "q4_k_m" || stored.name == "q5_k_m";
  const std::string_view usual = stored.name == "f32" ? "f32"
      : stored.name == "f16" || stored.name == "bf16" ? "f16"
                                                      : "bf16";
  u.kv = kv_named(options.kv.empty() ? usual : options.kv);  // as default_kv
  u.max_position = config.rope.max_position;
  u.text = "// Written by cke: a model's type, as numbers.\n" + include("cke/export.hpp") + include(card_of<Family>);
  if (config.rope.factors)
    u.text += "inline constexpr cke::rope_factors factors{\n    " + literal_list(factors.longs, factors.long_count) +
        ",\n    " + literal_list(factors.shorts, factors.short_count) + ",\n    " + literal(factors.long_count) + ", " +
        literal(factors.short_count) + "};\n";
  u.text += "using model = " + u.type + ";\n" + stored.declared + "CKE_EXPORT_MODEL(model, " + stored.policy +
      ", cke::dtype::" + std::string(info(u.kv).name) + ");\n";
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
template <class... Families> constexpr std::array<family_row, sizeof...(Families)> rows_of(list<Families...>) {
  return {row<Families>()...};
}
constexpr auto rows = rows_of(families{});

const family_row& family_of(const checkpoint& from) {
  std::string known;
  for (const family_row& f : rows) {
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
  for (const family_row& f : rows) all.push_back(f.known);
  return all;
}
unit make_unit(const checkpoint& from, const unit_options& options) { return family_of(from).unit_of(from, options); }
model_facts facts_of(const checkpoint& from) { return family_of(from).facts_of(from); }
void check_written(const checkpoint& from, const checkpoint& written) { family_of(from).check_written(from, written); }

}  // namespace cke::tool
