// SPDX-License-Identifier: MIT
// facts.hpp: the facts about a family that exporting GGUF needs: metadata, names and config values.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <cke/config_check.hpp>

#include "rooms.hpp"

namespace cke::tool {

struct model_facts {
  struct flags {
    layer_set of;
    u32 layers;
  };  // a bool per layer
  using number = std::variant<bool, u32, float, std::string_view, std::vector<i32>, flags>;
  struct entry {
    std::string_view key;  // without the architecture prefix
    number value;
  };
  std::string_view architecture;  // GGUF's name
  std::span<const name_rule> names;
  bool ahead = false;  // files may have further layers, for speculative decoding
  bool tied = false;
  u32 layers = 0, heads = 1, kv_heads = 1, head_dim = 0, experts = 0, rows = 0;  // rows: of the embedding
  u32 key_heads = 0, value_heads = 0;                                            // of linear attention
  bool tiled = false;                                                            // GGUF reorders its value heads
  u32 ssm_groups = 0;  // of state spaces, whose vectors have two dimensions in GGUF
  // Rows of a role that shares a tensor; 0: the family does not say.
  std::function<u64(const name_rule&, u32 layer)> rows_of;
  rotary rope;  // that of layers with full attention
  u32 rope_head_dim = 0;
  std::shared_ptr<rope_factors> factors = std::make_shared<rope_factors>();
  std::vector<entry> metadata;

  entry* find(std::string_view key) {
    const auto at = std::ranges::find(metadata, key, &entry::key);
    return at == metadata.end() ? nullptr : &*at;
  }
  // Of two entries with one key, the first counts.
  void add(std::string_view key, number value) {
    if (!find(key)) metadata.push_back({key, std::move(value)});
  }
};

namespace detail {

// "Every n-th layer does not" has a form in GGUF; other patterns have not, and reading back finds them wanting.
inline void put_layers(model_facts& f, std::string_view key, const layer_set& v) {
  for (u32 n = 1; n <= f.layers + 1; ++n)
    if (v == layer_set::all_but_every(n).first(f.layers)) return f.add(key, n);
}

inline void put_rope(model_facts& f, const config_field& k, const rotary& r) {
  f.add(k.gguf[0].text, static_cast<float>(r.theta));
  if (k.local) return;
  f.rope = r;
  f.add("rope.dimension_count", r.dims);
  // llama3's scaling and longrope's factors are stored as tensors.
  if (r.rule == rope_scaling::linear || r.rule == rope_scaling::yarn) {
    const double factor = r.factor.v != 0 ? r.factor.v : static_cast<double>(r.max_position) / r.original;
    f.add("rope.scaling.type", r.rule == rope_scaling::linear ? std::string_view("linear") : "yarn");
    f.add("rope.scaling.factor", static_cast<float>(factor));
    // llama.cpp multiplies yarn's own factor by this one, or computes it from the multiplier.
    if ((r.attention_factor.v != 0 || r.mscale_all.v != 0) && !f.find("rope.scaling.yarn_log_multiplier"))
      f.add("rope.scaling.attn_factor",
            rope_frequencies::of(r, f.rope_head_dim, 0).attention_factor / static_cast<float>(yarn_mscale(factor)));
    if (r.beta_fast.v != 32) f.add("rope.scaling.yarn_beta_fast", static_cast<float>(r.beta_fast));
    if (r.beta_slow.v != 1) f.add("rope.scaling.yarn_beta_slow", static_cast<float>(r.beta_slow));
  }
  if (r.rule == rope_scaling::longrope) f.add("rope.scaling.type", "longrope");
  if (r.rule == rope_scaling::longrope)
    f.add("rope.scaling.attn_factor", rope_frequencies::of(r, f.rope_head_dim, 0).attention_factor);
  if (r.rule == rope_scaling::yarn || r.rule == rope_scaling::longrope)
    f.add("rope.scaling.original_context_length", r.original);
}

// Under the first of a key's names in GGUF; a part of a list is the family's to write.
inline std::string_view written_key(const config_field& k) {
  const spelling& name = k.gguf[0];
  return k.written && (name.take == taking::whole || name.take == taking::same) ? name.text : std::string_view{};
}

template <class C> void put(model_facts& f, const config_key<C>& k, const C& c) {
  const std::string_view key = written_key(k);
  if (key.empty() || (f.experts == 0 && key.starts_with("expert_"))) return;
  if (k.flag) f.add(key, c.*k.flag);
  else if (k.real_number && (c.*k.real_number).v >= k.least) f.add(key, static_cast<float>(c.*k.real_number));
  else if (k.number && c.*k.number != everything && c.*k.number >= k.least) f.add(key, c.*k.number);
  else if (k.layers) put_layers(f, key, c.*k.layers);
  else if (k.rope) put_rope(f, k, c.*k.rope);
}

// What the family itself puts into metadata.
inline void put(model_facts& f, std::string_view key, const auto& value) {
  using type = std::remove_cvref_t<decltype(value)>;
  if constexpr (std::is_same_v<type, layer_set>) {
    f.add(key, model_facts::flags{value, f.layers});
  } else if constexpr (std::is_invocable_v<type, u32>) {
    std::vector<i32> of_layers;
    for (u32 layer = 0; layer < f.layers; ++layer) of_layers.push_back(static_cast<i32>(value(layer)));
    f.add(key, std::move(of_layers));
  } else if constexpr (requires { value.begin(); }) {
    f.add(key, std::vector<i32>(value.begin(), value.end()));
  } else {
    f.add(key, value);
  }
}

template <class Family> void put_metadata(model_facts& f, const checkpoint& from, const typename Family::config& c) {
  if constexpr (requires { Family::gguf_architecture_of(c); }) f.architecture = Family::gguf_architecture_of(c);
  if constexpr (requires { &Family::template to_gguf<void (*)(std::string_view, u32)>; })
    Family::to_gguf(c, json{from.config}, [&](std::string_view key, const auto& value) { put(f, key, value); });
  const model_shape shape = Family::shape(c);
  if (shape.attends)  // one for each layer, 0 where it does not attend
    put(f, "attention.head_count_kv", [&](u32 layer) { return shape.attends->has(layer) ? shape.kv_heads : 0; });
  for (const auto& k : Family::keys) put(f, k, c);
  if (shape.kv_heads) f.add("attention.key_length", c.head_dim), f.add("attention.value_length", c.head_dim);
  if (c.rope.max_position == 0 && !f.find("context_length"))
    throw Error(errc::config_range, from.name, "config key max_position_embeddings", "this key", "none");
  f.add("context_length", c.rope.max_position);
}

// Rows of a role in a tensor that holds several, in a unit that they have in common.
template <class Family> u64 rows_of(const typename Family::config& c, const name_rule& rule, u32 layer) {
  const model_shape shape = Family::shape(c);
  role is = rule.is;
  if (shape.nope && of_heads(is)) return is == role::k_b ? shape.nope : shape.value;
  if (shape.value_heads && is == role::conv) is = std::array{role::delta_q, role::delta_k, role::delta_v}[rule.nth];
  for (const layer_matrix& m : Family::matrices(c, layer))
    if (m.is == is) return m.rows;
  return 0;
}

}  // namespace detail

// Throws Error, as config_of does.
template <class Family> model_facts facts_of(const checkpoint& from) {
  model_facts f;
  const auto c = config_of<Family>(from, *f.factors);
  f.architecture = architecture_of<Family>();
  f.names = Family::names;
  if constexpr (requires { Family::names_of(c); }) f.names = Family::names_of(c);
  f.ahead = requires { Family::predicts_ahead; };
  const model_shape shape = Family::shape(c);
  f.tied = c.tied, f.layers = c.layers, f.heads = shape.heads, f.head_dim = c.head_dim, f.rows = c.vocab;
  f.kv_heads = std::max(shape.kv_heads, 1u), f.experts = shape.experts, f.ssm_groups = shape.ssm_groups;
  f.key_heads = shape.key_heads, f.value_heads = shape.value_heads;
  f.tiled = from.as == naming::hf && shape.tiled_in_gguf;
  for (const auto& k : Family::keys)
    if (k.rope && !k.local) f.rope_head_dim = c.*k.head_dim;
  f.rows_of = [c](const name_rule& rule, u32 layer) { return detail::rows_of<Family>(c, rule, layer); };
  if (from.as == naming::hf) detail::put_metadata<Family>(f, from, c);  // a GGUF source keeps its own
  return f;
}

// Reads the planned file's config and throws unsupported if it differs from the source's, as when GGUF has no key for a
// value. A family written as another (Mistral as llama) is not checked, because it loses information by design.
template <class Family> void check_written(const checkpoint& from, const checkpoint& written) {
  if (!is_of<Family>(written.model_type, json{written.config}, naming::gguf)) return;
  rope_factors wanted_factors, found_factors;
  auto wanted = config_of<Family>(from, wanted_factors);
  const auto found = config_of<Family>(written, found_factors);
  for (const auto& k : Family::keys)  // what no key says is the file's own way: the order of value heads
    if (k.flag && k.hf.none() && k.gguf.none()) wanted.*k.flag = found.*k.flag;
  const u32 trained = std::min(wanted.rope.max_position, 1u << 28);
  for (const u32 context : {1u, trained, 2 * trained}) {
    std::string keys;  // and values, where they are short
    each_mismatch<Family>(wanted, found, {json{from.config}, from.as}, context,
                          [&](const config_reader::found& at, std::string_view, std::string_view) {
                            keys += concat({keys.empty() ? "" : ", ", at.key});
                            if (at.value.present() && !at.value.is_array() && !at.value.is_object())
                              keys += concat({" (", at.value.s, ")"});
                          });
    if (!keys.empty()) throw Error(errc::unsupported, from.name, "config key " + keys, "GGUF has no word for this");
  }
}

}  // namespace cke::tool
