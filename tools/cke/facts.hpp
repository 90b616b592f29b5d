// SPDX-License-Identifier: MIT
// facts.hpp: what writing a model as GGUF takes from its family: the metadata, names and numbers of its config.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <cke/match.hpp>
#include <cke/models/lfm2.hpp>

namespace cke::tool {

struct model_facts {
  using number = std::variant<bool, u32, float, std::string_view, std::vector<i32>>;
  struct entry {
    std::string key;
    number value;
  };
  std::string_view architecture;  // as GGUF names it
  std::span<const name_rule> names;
  bool ahead = false;             // files may have layers after the last, for speculation
  bool tied = false;
  u32 layers = 0, heads = 1, kv_heads = 1, head_dim = 0, experts = 0, rows = 0;  // rows: of the embedding
  rotary rope;                    // the global one
  std::shared_ptr<rope_factors> factors = std::make_shared<rope_factors>();
  std::vector<entry> metadata;

  void add(std::string_view key, number value) { metadata.push_back({std::string(architecture) + '.' + std::string(key), value}); }
};

namespace detail {

// A key that the reader makes of something else, or that GGUF does not have, is not written.
inline bool is_written(const config_key& k) {
  return !k.gguf.empty() && k.gguf != key::attends.gguf &&
         std::ranges::none_of(cke::detail::shown_by_tensors, [&](const auto& row) { return row.key == k.gguf; });
}
inline void put(model_facts& f, const config_key& k, u32 v) {
  if (v != everything) f.add(k.gguf, v);
}
inline void put(model_facts& f, const config_key& k, bool v) { f.add(k.gguf, v); }
inline void put(model_facts& f, const config_key& k, real v) { f.add(k.gguf, static_cast<float>(v)); }
// "Every n-th layer does not" has a form in GGUF; other patterns have not, and reading back finds them wanting.
inline void put(model_facts& f, const config_key& k, const layer_set& v) {
  for (u32 n = 1; n <= f.layers + 1; ++n)
    if (v == layer_set::all_but_every(n).first(f.layers)) return f.add(k.gguf, n);
}

inline void put(model_facts& f, const config_key& k, const rotary& r) {
  f.add(k.gguf, static_cast<float>(r.theta));
  if (k.hf == key::local_rope.hf) return;
  f.rope = r;
  f.add("rope.dimension_count", r.dims);
  // llama3's rule is a tensor, and so are longrope's factors.
  if (r.rule == stretch::linear || r.rule == stretch::yarn) {
    const double factor = r.factor.v != 0 ? r.factor.v : static_cast<double>(r.max_position) / r.original;
    f.add("rope.scaling.type", r.rule == stretch::linear ? std::string_view("linear") : "yarn");
    f.add("rope.scaling.factor", static_cast<float>(factor));
    // llama.cpp multiplies the rule's own factor by this one.
    if (r.attention_factor.v != 0 || r.mscale_all.v != 0)
      f.add("rope.scaling.attn_factor", rope_frequencies::of(r, f.head_dim, 0).attention_factor / static_cast<float>(yarn_mscale(factor)));
    if (r.beta_fast.v != 32) f.add("rope.scaling.yarn_beta_fast", static_cast<float>(r.beta_fast));
    if (r.beta_slow.v != 1) f.add("rope.scaling.yarn_beta_slow", static_cast<float>(r.beta_slow));
  }
  if (r.rule == stretch::longrope) f.add("rope.scaling.type", "longrope");
  if (r.rule == stretch::longrope) f.add("rope.scaling.attn_factor", rope_frequencies::of(r, f.head_dim, 0).attention_factor);
  if (r.rule == stretch::yarn || r.rule == stretch::longrope) f.add("rope.scaling.original_context_length", r.original);
}

}  // namespace detail

// Throws Error, as config_of does.
template <class Family> model_facts facts_of(const checkpoint& from) {
  model_facts f;
  const auto c = config_of<Family>(from, *f.factors);
  const auto refuse = [&] {
    throw Error(errc::unsupported, from.name, concat({"model type ", from.model_type}), "metadata that cke can write");
  };
  if constexpr (requires { c.kv_heads; }) f.kv_heads = c.kv_heads;
  else refuse();
  f.architecture = architecture_of<Family>();
  f.names = Family::names;
  f.ahead = requires { Family::predicts_ahead; };
  f.tied = c.tied, f.layers = c.layers, f.heads = c.heads, f.head_dim = c.head_dim, f.rows = c.vocab;
  if constexpr (requires { c.experts; }) f.experts = c.experts;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto one = [&](const config_key& k, const auto& field) {
      // Such a key is one that the reader made of a list.
      if (k.gguf.find('|') != k.gguf.npos) refuse();
      if (detail::is_written(k)) detail::put(f, k, field);
    };
    (one(Family::keys[I], boost::pfr::get<I>(c)), ...);
  }(std::make_index_sequence<std::size(Family::keys)>{});
  if constexpr (requires { c.attends; }) {  // of each layer, 0 where it does not attend
    std::vector<i32> kv_heads;
    for (u32 layer = 0; layer < c.layers; ++layer) kv_heads.push_back(c.attends.has(layer) ? static_cast<i32>(c.kv_heads) : 0);
    const std::string_view name = key::kv_heads.gguf;
    std::ranges::find_if(f.metadata, [&](const auto& e) { return std::string_view(e.key).ends_with(name); })->value = std::move(kv_heads);
  }
  if constexpr (requires { Family::gguf_also; })
    for (const gguf_constant& also : Family::gguf_also) f.add(also.key, also.value);
  const auto has = [&](std::string_view key) {
    return std::ranges::any_of(f.metadata, [&](const auto& e) { return std::string_view(e.key).ends_with(key); });
  };
  if (!has(".attention.key_length")) f.add("attention.key_length", c.head_dim);
  f.add("attention.value_length", c.head_dim);
  if (c.rope.max_position == 0) throw Error(errc::config_range, from.name, "config key max_position_embeddings", "this key", "none");
  f.add("context_length", c.rope.max_position);
  return f;
}

// Throws unsupported where what was written, when it is read, is not what it was made from: GGUF has no word for it.
// A family that becomes another (Mistral a llama) says less, and is known to.
template <class Family> void check_written(const checkpoint& from, const checkpoint& written) {
  if (written.model_type != name_in<Family>(naming::gguf)) return;
  rope_factors wanted_factors, found_factors;
  const auto wanted = config_of<Family>(from, wanted_factors), found = config_of<Family>(written, found_factors);
  const u32 trained = std::min(wanted.rope.max_position, 1u << 28);
  try {
    for (const u32 context : {1u, trained, 2 * trained}) match_config<Family>(wanted, found, written, context);
  } catch (const Error& e) {
    throw Error(errc::unsupported, from.name, e.subject, "GGUF has no word for its value");
  }
}

}  // namespace cke::tool
