// SPDX-License-Identifier: MIT
// config.hpp: a config.json (or GGUF metadata shown as one) becomes a family's config aggregate.
// The same reader runs on constants, for a program's own model, and on files at run time.
#pragma once

#include "config_reader.hpp"

CKE_COLD_BEGIN
namespace cke {

template <class Config> struct parsed_config {
  Config config;
  config_problem bad;
};

// That of the layers that a rope is for.
template <class Config> constexpr u32 head_dim_of(const Config& c, [[maybe_unused]] const config_key& rope) {
  if constexpr (requires { c.global_head_dim; })
    if (rope.hf == key::global_rope.hf) return c.global_head_dim;
  return c.head_dim;
}

template <class Family>
constexpr parsed_config<typename Family::config> read_config(json root, naming as, rope_factors* factors) {
  static_assert(std::size(Family::keys) == boost::pfr::tuple_size_v<typename Family::config>,
                "cke: config: a family has one key per field of its config, in field order");
  typename Family::config c = Family::defaults;
  if constexpr (requires { Family::gguf_defaults; })
    if (as == naming::gguf) c = Family::gguf_defaults;
  config_reader r{root, as, factors};
  constexpr auto fields = std::make_index_sequence<std::size(Family::keys)>{};
  constexpr std::string_view layer_types = "layer_types";
  bool layered = false;
  auto one = [&](const config_key& k, auto& field) {
    using field_type = std::remove_cvref_t<decltype(field)>;
    if constexpr (std::is_same_v<field_type, rotary>) {
      r.rope(k, field);
    } else {
      const json j = r.at(k.hf, k.gguf);
      const std::string_view key = as == naming::hf ? k.hf : k.gguf;
      const json numbers = as == naming::hf && !k.numbers.empty() ? root[k.numbers] : json{};
      if constexpr (std::is_same_v<field_type, layer_set>) {
        if (j.present()) r.layers(k, key, j, field);
        else if (numbers.present()) r.numbered(k.numbers, numbers, field);
        else if (!k.optional) r.fail(trouble::missing, key, j);
      } else if (j.present() && (k.absent.empty() || j.text() != k.absent)) {
        if constexpr (std::is_same_v<field_type, u32>) {
          const bool listed = k.field == key::layers.field && json::seek(k.hf, '|') < k.hf.size();
          listed ? r.count(key, j, k.least, k.most, field) : r.read(key, j, k.least, k.most, field);
        } else r.read(key, j, k.least, k.most, field);
      } else if constexpr (std::is_same_v<field_type, u32> || std::is_same_v<field_type, real>) {
        if (!j.s.empty() && k.null >= 0) field = static_cast<field_type>(k.null);
        else if (!k.optional) r.fail(trouble::missing, key, j);
      } else if (!k.optional) r.fail(trouble::missing, key, j);
      if constexpr (std::is_same_v<field_type, layer_set>) {
        layered = layered || k.hf.starts_with(layer_types);
        // GGUF may say something of layers that only look ahead, too.
        if (j.is_array() && (as == naming::hf ? j.size() != c.layers : j.size() < c.layers)) r.fail(trouble::out_of_range, key, j, c.layers, c.layers);
      }
    }
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) { (one(Family::keys[I], boost::pfr::get<I>(c)), ...); }(fields);
  for (const requirement& must : Family::must_be)
    if (const json j = root[must.hf]; as == naming::hf && j.present()) {
      const std::string_view value = j.is_text() ? j.text() : j.s;
      if (value != must.literal) r.fail(trouble::unsupported, must.hf, j, 0, 0, must.literal);
    }
  if (!layered && as == naming::hf)
    root[layer_types].find([&](std::string_view, json e) {
      if (e.text() != "full_attention") r.fail(trouble::unsupported, layer_types, e, 0, 0, "full_attention");
      return false;
    });
  if (r.bad.what != trouble::none) return {c, r.bad};
  c = Family::finish(c);
  auto part = [&](const config_key& k, auto& field) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field)>, rotary>) r.rope_part(k, field, head_dim_of(c, k));
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) { (part(Family::keys[I], boost::pfr::get<I>(c)), ...); }(fields);
  if constexpr (requires { Family::refuses(root, as, c); })
    if (r.bad.what == trouble::none) r.bad = Family::refuses(root, as, c);
  return {c, r.bad};
}

// What a family's numbers must satisfy together; false names the rule. Types check the same again.
template <class Config> constexpr config_problem check_config(const Config& c) {
  if constexpr (requires { c.kv_heads; })
    if (c.heads % c.kv_heads) return {trouble::unsupported, "num_attention_heads", {}, 0, 0, "a multiple of num_key_value_heads"};
  if (c.head_dim % 2 || c.head_dim == 0) return {trouble::unsupported, "head_dim", {}, 0, 0, "an even number"};
  if (c.rope.dims > c.head_dim || c.rope.dims % 2)
    return {trouble::unsupported, "rope.dimension_count", {}, 0, 0, "an even number up to head_dim"};
  if constexpr (requires { c.value_heads; })
    if (c.value_heads % c.key_heads) return {trouble::unsupported, "linear_num_value_heads", {}, 0, 0, "a multiple of linear_num_key_heads"};
  if constexpr (requires { c.active; })
    if (c.active > c.experts) return {trouble::unsupported, key::active.hf, {}, 0, 0, "at most num_experts"};
  if constexpr (requires { c.groups_kept; }) {
    if (c.experts % c.groups || (c.groups > 1 && c.experts / c.groups < 2))
      return {trouble::unsupported, key::groups.hf, {}, 0, 0, "groups of equal size, two experts or more"};
    if (c.groups_kept > c.groups || c.experts / c.groups * c.groups_kept < c.active)
      return {trouble::unsupported, key::groups_kept.hf, {}, 0, 0, "enough groups for num_experts_per_tok, and at most n_group"};
  }
  return {};
}

}  // namespace cke
CKE_COLD_END
