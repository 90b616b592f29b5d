// SPDX-License-Identifier: MIT
// unit.cpp: see unit.hpp.
#include "unit.hpp"

#include <charconv>
#include <map>

#include <boost/pfr/core.hpp>
#include <cke/match.hpp>
#include <cke/models/llama.hpp>
#include <cke/models/qwen3.hpp>

namespace cke::tool {
namespace {

std::string text_of(u32 v) { return std::to_string(v) + "u"; }
std::string text_of(bool v) { return v ? "true" : "false"; }

// A hexadecimal literal is the number to the bit.
std::string text_of(double v) {
  char digits[40];
  const auto [end, failed] = std::to_chars(digits, digits + sizeof digits, std::abs(v), std::chars_format::hex);
  if (failed != std::errc{} || !std::isfinite(v)) throw Error(errc::config_range, {}, "config", "finite numbers");
  return (std::signbit(v) ? "-0x" : "0x") + std::string(digits, end);
}
std::string text_of(real v) { return '{' + text_of(v.v) + '}'; }

template <class Enum> std::string enumerator(const char* type, Enum v) {
  return std::string("static_cast<cke::") + type + ">(" + std::to_string(static_cast<u32>(v)) + ')';
}
std::string text_of(pairing v) { return enumerator("pairing", v); }
std::string text_of(stretch v) { return enumerator("stretch", v); }
std::string text_of(const rope_factors* v) { return v ? "&factors" : "nullptr"; }

// An aggregate is its fields in braces.
template <class T>
  requires std::is_aggregate_v<T>
std::string text_of(const T& v) {
  std::string out;
  boost::pfr::for_each_field(v, [&](const auto& field) { out += (out.empty() ? "" : ", ") + text_of(field); });
  return '{' + out + '}';
}

std::string text_of(const double* list, u32 count) {
  std::string out;
  for (u32 i = 0; i < count; ++i) out += (i ? ", " : "") + text_of(list[i]);
  return '{' + out + '}';
}

std::string include(std::string_view header) { return "#include <" + std::string(header) + ">\n"; }

template <class Family> unit unit_of(const checkpoint& from) {
  rope_factors factors;
  const auto config = config_of<Family>(from, factors);
  unit u;
  u.family = Family::name;
  u.max_position = config.rope.max_position;
  u.text = "// Written by cke: a model's type, as numbers.\n" + include("cke/export.hpp") + include(Family::header);
  if (config.rope.factors)
    u.text += "inline constexpr cke::rope_factors factors{\n    " + text_of(factors.longs, factors.long_count) +
              ",\n    " + text_of(factors.shorts, factors.short_count) + ",\n    " + text_of(factors.long_count) +
              ", " + text_of(factors.short_count) + "};\n";
  u.text += "using model = " + std::string(Family::type_name) + "<" + text_of(config) + ">;\n";
  return u;
}

struct family_row {
  std::string_view model_type;
  unit (*unit_of)(const checkpoint&);
};
template <class Family> constexpr family_row row{Family::name, unit_of<Family>};
constexpr family_row families[] = {row<family<"qwen3">>, row<family<"llama">>};

struct format_row {
  dtype type;
  std::string_view policy, enumerator;
  bool for_kv;
};
constexpr format_row formats[] = {{dtype::f32, "cke::F32", "cke::dtype::f32", true},
                                  {dtype::f16, "cke::F16", "cke::dtype::f16", true},
                                  {dtype::bf16, "cke::BF16", "cke::dtype::bf16", true},
                                  {dtype::q8_0, "cke::Q8_0", "cke::dtype::q8_0", false}};

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
    known += (known.empty() ? "" : ", ") + std::string(f.model_type);
    if (f.model_type != from.model_type) continue;
    unit u = f.unit_of(from);
    u.format = format.type, u.kv = kv.type;
    u.text += "CKE_EXPORT_MODEL(model, " + std::string(format.policy) + ", " + std::string(kv.enumerator) + ");\n";
    return u;
  }
  throw Error(errc::unsupported, from.name, "model type", "one of " + known,
              from.model_type.empty() ? "none" : from.model_type);
}

}  // namespace cke::tool
