// SPDX-License-Identifier: MIT
// unit.cpp: see unit.hpp.
#include "unit.hpp"

#include <map>

#include <cke/match.hpp>
#include <cke/models/gemma2.hpp>
#include <cke/models/gemma3.hpp>
#include <cke/models/glm4.hpp>
#include <cke/models/granite.hpp>
#include <cke/models/llama.hpp>
#include <cke/models/mistral.hpp>
#include <cke/models/olmo2.hpp>
#include <cke/models/phi3.hpp>
#include <cke/models/qwen2.hpp>
#include <cke/models/qwen3.hpp>
#include <cke/models/smollm3.hpp>

#include "literal.hpp"

namespace cke::tool {
namespace {

std::string include(std::string_view header) { return "#include <" + std::string(header) + ">\n"; }

std::string shape_text(std::span<const u64> shape) {
  std::string out;
  for (const u64 n : shape) out += (out.empty() ? "" : ", ") + std::to_string(n);
  return '[' + out + ']';
}

// Loading checks every tensor; this spares a compilation that cannot end well, and bounds its size: numbers
// that no matrix of the file confirms never reach the compiler.
template <class Family> void check_matrices(const checkpoint& from, const typename Family::config& c) {
  struct matrix { role is; u64 rows; };
  const u64 q = u64{c.heads} * c.head_dim, kv = u64{c.kv_heads} * c.head_dim;
  const matrix body[] = {{role::q, q}, {role::k, kv}, {role::v, kv}, {role::gate, c.hidden}, {role::up, c.hidden}};
  const auto tensor_of = [&](place where, role is) { return part_of(name_of(Family::names, where, {.is = is}).in(from.as)).tensor; };
  const auto check = [&](std::string_view tensor, u32 layer, u64 rows) {
    std::string name(tensor);
    if (const auto hole = name.find("{}"); hole != name.npos) name.replace(hole, 2, std::to_string(layer));
    const tensor_ref* const t = from.tensors.find(name += ".weight");
    const u64 wanted[] = {rows, c.dim};
    if (!t || !std::ranges::equal(t->shape, wanted))
      throw Error(t ? errc::tensor_shape : errc::tensor_missing, from.name, "tensor " + name,
                  shape_text(wanted) + " by the config", t ? shape_text(t->shape) : "none");
  };
  check(tensor_of(place::header, role::embed), 0, c.vocab);
  for (const u32 layer : {0u, c.layers - 1})
    for (const matrix& m : body) {
      const std::string_view tensor = tensor_of(place::body, m.is);
      u64 rows = 0;  // of all that share it
      for (const matrix& other : body) rows += tensor_of(place::body, other.is) == tensor ? other.rows : 0;
      check(tensor, layer, rows);
    }
}

template <class Family> unit unit_of(const checkpoint& from) {
  rope_factors factors;
  auto config = config_of<Family>(from, factors);
  check_matrices<Family>(from, config);
  unit u;
  u.family = Family::name;
  u.type = std::string(Family::type_name) + '<' + literal(config, Family::keys) + '>';
  u.max_position = config.rope.max_position;
  u.text = "// Written by cke: a model's type, as numbers.\n" + include("cke/export.hpp") + include(Family::header);
  if (config.rope.factors)
    u.text += "inline constexpr cke::rope_factors factors{\n    " + literal_list(factors.longs, factors.long_count) +
              ",\n    " + literal_list(factors.shorts, factors.short_count) + ",\n    " + literal(factors.long_count) +
              ", " + literal(factors.short_count) + "};\n";
  u.text += "using model = " + u.type + ";\n";
  return u;
}

struct family_row {
  std::string_view hf, gguf;
  unit (*unit_of)(const checkpoint&);
};
template <class Family> constexpr family_row row{name_in<Family>(naming::hf), name_in<Family>(naming::gguf), unit_of<Family>};
constexpr family_row families[] = {
    row<family<"gemma2">>, row<family<"gemma3_text">>, row<family<"glm4">>, row<family<"granite">>, row<family<"llama">>,
    row<family<"mistral">>, row<family<"olmo2">>, row<family<"phi3">>, row<family<"qwen2">>, row<family<"qwen3">>, row<family<"smollm3">>};

struct format_row {
  dtype type;
  std::string_view policy, enumerator;
  bool for_kv;
};
constexpr format_row formats[] = {{dtype::f32, "cke::F32", "cke::dtype::f32", true},
                                  {dtype::f16, "cke::F16", "cke::dtype::f16", true},
                                  {dtype::bf16, "cke::BF16", "cke::dtype::bf16", true},
                                  {dtype::q8_0, "cke::Q8_0", "cke::dtype::q8_0", true}};

const format_row& format_named(std::string_view name, bool for_kv) {
  std::string known;
  for (const format_row& f : formats) {
    if (for_kv && !f.for_kv) continue;
    if (info(f.type).name == name) return f;
    known += (known.empty() ? "" : ", ") + std::string(info(f.type).name);
  }
  throw Error(errc::usage, {}, for_kv ? "--kv" : "--format", "one of " + known, std::string(name));
}

// The type of most bytes of the matrices.
const format_row& stored_format(const checkpoint& from) {
  std::map<std::string_view, u64> bytes;
  for (const tensor_ref& t : from.tensors.tensors())
    if (t.shape.size() == 2) bytes[t.stored] += std::max<u64>(1, t.bytes.size());
  const auto most = std::ranges::max_element(bytes, {}, [](const auto& e) { return e.second; });
  if (most == bytes.end()) throw Error(errc::tensor_missing, from.name, {}, "matrices", "none");
  for (const format_row& f : formats)
    for (const tensor_ref& t : from.tensors.tensors())
      if (t.stored == most->first && t.type == f.type) return f;
  throw Error(errc::unsupported, from.name, "tensors", "f32, f16, bf16 or q8_0", std::string(most->first));
}

}  // namespace

unit make_unit(const checkpoint& from, const unit_options& options) {
  const format_row& format = options.format.empty() ? stored_format(from) : format_named(options.format, false);
  const format_row& kv = options.kv.empty() ? format_named(format.type == dtype::f32 ? "f32" : "bf16", true)
                                            : format_named(options.kv, true);
  std::string known;
  for (const family_row& f : families) {
    const std::string_view name = from.as == naming::hf ? f.hf : f.gguf;
    if (!name.empty()) known += (known.empty() ? "" : ", ") + std::string(name);
    if (name.empty() || name != from.model_type) continue;
    unit u = f.unit_of(from);
    u.format = format.type, u.kv = kv.type;
    u.text += "CKE_EXPORT_MODEL(model, " + std::string(format.policy) + ", " + std::string(kv.enumerator) + ");\n";
    return u;
  }
  throw Error(errc::unsupported, from.name, "model type", "one of " + known,
              from.model_type.empty() ? "none" : from.model_type);
}

}  // namespace cke::tool
