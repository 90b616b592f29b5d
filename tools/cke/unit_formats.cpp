// SPDX-License-Identifier: MIT
// unit_formats.cpp: see unit_formats.hpp.
#include "unit_formats.hpp"

#include <algorithm>
#include <functional>

#include <cke/core/tensor_name.hpp>
#include <cke/graph/format_policy.hpp>
#include <cke/kernels/formats/convert.hpp>

namespace cke::tool {
namespace {

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

std::string_view name_of_type(dtype t) { return info(t).name; }
template <class List, class Name> std::vector<std::string> names_of(const List& list, Name name) {
  std::vector<std::string> names;
  for (const auto& item : list) names.emplace_back(std::invoke(name, item));
  return names;
}

// What a tensor is kept in unless something is asked for: floats of 8 bits and their scales fit best into bf16.
dtype kept_type(const file_matrix& m) { return m.tensor->type == dtype::f8_e4m3 ? dtype::bf16 : m.tensor->type; }

dtype kv_named(std::string_view name) {
  for (const dtype t : kv_types)
    if (info(t).name == name) return t;
  throw Error(errc::usage, {}, "--kv", "one of " + listed(kv_names()), name);
}

}  // namespace

std::vector<std::string> format_names() { return names_of(formats, &format_row::name); }
std::vector<std::string> kv_names() { return names_of(kv_types, name_of_type); }
std::string listed(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += concat({out.empty() ? "" : ", ", word});
  return out;
}

named_tensor tensor_in_file(const checkpoint& from, const spellings& names, u32 layer) {
  for (const spelling& name : names)
    if (const auto* t = from.tensors.find(tensor_name(name, false, layer, 0))) return {t->name, t};
  return {tensor_name(names[0], false, layer, 0), nullptr};
}

format format_named(std::string_view name, const checkpoint& from, const std::vector<file_matrix>& all, u32 layers,
                    bool tied) {
  for (const format_row& f : formats) {
    if (f.name != name) continue;
    for (const file_matrix& m : all)  // nothing is rounded to types that are not convertible
      if (const dtype t = f.of(m.slot, m.layer, layers, tied); !kernels::rounds_to(t) && m.tensor->type != t)
        throw Error(errc::tensor_dtype, from.name, "tensor " + m.tensor->name, info(t).name, m.tensor->stored);
    return {std::string(f.name), std::string(f.policy), {}};
  }
  throw Error(errc::usage, {}, "--format", "one of " + listed(format_names()), name);
}

format stored_format(const checkpoint& from, const std::vector<file_matrix>& all, u32 layers, bool tied) {
  for (const file_matrix& m : all)
    if (std::ranges::find(weight_types, kept_type(m)) == std::end(weight_types))
      throw Error(errc::unsupported, from.name, "tensor " + m.tensor->name,
                  "one of " + listed(names_of(weight_types, name_of_type)), m.tensor->stored);
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

dtype kv_of(std::string_view name, const format& weights) {
  const std::string_view usual = weights.name == "f32"  ? "f32"
      : weights.name == "f16" || weights.name == "bf16" ? "f16"
                                                        : "bf16";
  return kv_named(name.empty() ? usual : name);
}

}  // namespace cke::tool
