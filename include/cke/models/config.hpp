// SPDX-License-Identifier: MIT
// config.hpp: a config.json (or GGUF metadata shown as one) becomes a family's config aggregate.
// The same reader runs on constants, for a program's own model, and on files at run time.
#pragma once

#include <boost/pfr/core.hpp>
#include <iterator>

#include "../core/json.hpp"
#include "family.hpp"

namespace cke {

enum class trouble : u8 { none, missing, not_a_number, not_a_bool, out_of_range, unknown_word, unsupported };

// The first thing that is wrong with a config, as data: a static_assert or an Error is made of it.
struct config_problem {
  trouble what{};
  std::string_view key{}, found{};
  double least{}, most{};
  std::string_view wanted{};
};

// One row per field of `rotary`, in order; empty: not a key of its own.
struct rope_key {
  std::string_view hf, gguf;
  double least, most;
};
inline constexpr rope_key rope_keys[] = {
    {"", "rope.dimension_count", 0, 1024},
    {"rope_parameters.rope_theta|rope_theta", "rope.freq_base", 1, 1e12},
    {"", "", 0, 0},
    {"", "rope.scaling.type", 0, 0},
    {"rope_parameters.factor|rope_scaling.factor", "rope.scaling.factor", 1e-3, 1e6},
    {"rope_parameters.low_freq_factor|rope_scaling.low_freq_factor", "", 1e-6, 1e6},
    {"rope_parameters.high_freq_factor|rope_scaling.high_freq_factor", "", 1e-6, 1e6},
    {"rope_parameters.beta_fast|rope_scaling.beta_fast", "rope.scaling.yarn_beta_fast", 1e-6, 1e6},
    {"rope_parameters.beta_slow|rope_scaling.beta_slow", "rope.scaling.yarn_beta_slow", 1e-6, 1e6},
    {"rope_parameters.mscale|rope_scaling.mscale", "", 0, 1e6},
    {"rope_parameters.mscale_all_dim|rope_scaling.mscale_all_dim", "", 0, 1e6},
    {"rope_parameters.truncate|rope_scaling.truncate", "", 0, 1},
    {"rope_parameters.attention_factor|rope_scaling.attention_factor", "rope.scaling.attn_factor", 0, 1e6},
    {"rope_parameters.original_max_position_embeddings|rope_scaling.original_max_position_embeddings|"
     "original_max_position_embeddings", "rope.scaling.original_context_length", 1, 1 << 28},
    {"max_position_embeddings", "context_length", 1, 1 << 28},
    {"", "", 0, 0}};
static_assert(std::size(rope_keys) == boost::pfr::tuple_size_v<rotary>);

struct rule_word { std::string_view word; stretch rule; };
inline constexpr rule_word rule_words[] = {
    {"default", stretch::none}, {"none", stretch::none}, {"linear", stretch::linear},
    {"dynamic", stretch::dynamic}, {"llama3", stretch::llama3}, {"yarn", stretch::yarn},
    {"longrope", stretch::longrope}, {"su", stretch::longrope}};

struct config_reader {
  json root;
  naming as{};
  rope_factors* factors{};  // where longrope's lists go, and the config points; null: nowhere
  config_problem bad{};

  CKE_OUT_OF_LINE constexpr void fail(trouble what, std::string_view key, json at, double least = 0,
                                      double most = 0, std::string_view wanted = {}) {
    if (bad.what == trouble::none) bad = {what, key, at.s, least, most, wanted};
  }
  constexpr json at(std::string_view hf, std::string_view gguf) const {
    if (as == naming::gguf) return gguf.empty() ? json{} : root[gguf];  // flat: its keys have dots
    return hf.empty() ? json{} : root.path(hf);
  }

  CKE_OUT_OF_LINE constexpr bool number(std::string_view key, json j, double least, double most, double& out) {
    double v = j.number();
    if (const json inf = j["__float__"]; inf.is_text() && inf.text() == "Infinity") v = 1e300;
    else if (!j.is_number()) return fail(trouble::not_a_number, key, j, least, most), false;
    if (!(v >= least && v <= most)) return fail(trouble::out_of_range, key, j, least, most), false;
    out = v;
    return true;
  }
  constexpr void read(std::string_view key, json j, double least, double most, u32& to) {
    double v{};
    if (!number(key, j, least, most, v)) return;
    if (v != static_cast<double>(static_cast<u64>(v))) return fail(trouble::out_of_range, key, j, least, most);
    to = static_cast<u32>(v);
  }
  constexpr void read(std::string_view key, json j, double least, double most, real& to) {
    double v{};
    if (number(key, j, least, most, v)) to = v;
  }
  constexpr void read(std::string_view key, json j, double, double, bool& to) {
    if (!j.is_bool()) return fail(trouble::not_a_bool, key, j);
    to = j.truth();
  }

  constexpr u32 read_list(std::string_view key, json j, double* to) {
    u32 n = 0;
    if (!j.is_array()) return fail(trouble::not_a_number, key, j, 1e-6, 1e6), 0;
    j.find([&](std::string_view, json e) {
      if (n == std::size(factors->longs)) return fail(trouble::out_of_range, key, j, 1e-6, 1e6), true;
      return !number(key, e, 1e-6, 1e6, to[n++]);
    });
    return n;
  }

  constexpr void rope(rotary& r) {
    if (as == naming::hf) {
      for (const std::string_view key : {"rope_parameters", "rope_scaling"})
        if (const json j = root[key]; j.present() && !j.is_object()) fail(trouble::not_a_number, key, j);
      const json rule = root.path("rope_parameters.rope_type|rope_scaling.rope_type|rope_scaling.type");
      if (rule.present()) word(rule, r.rule);
      if (const json part = root.path("rope_parameters.partial_rotary_factor|partial_rotary_factor");
          part.present() && part.number() != 1)
        fail(trouble::unsupported, "partial_rotary_factor", part, 0, 0, "1");
    } else if (const json rule = root["rope.scaling.type"]; rule.present()) {
      word(rule, r.rule);
    }
    auto one = [&](u32 i, auto& field) {
      const json j = at(rope_keys[i].hf, rope_keys[i].gguf);
      if (!j.present()) return;
      const std::string_view key = as == naming::hf ? rope_keys[i].hf : rope_keys[i].gguf;
      if constexpr (requires { read(key, j, 0., 0., field); })
        read(key, j, rope_keys[i].least, rope_keys[i].most, field);
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (one(I, boost::pfr::get<I>(r)), ...);
    }(std::make_index_sequence<std::size(rope_keys)>{});
    read_factors(r);
    // 0: by how much the context grew
    const bool named = at(rope_keys[4].hf, rope_keys[4].gguf).present();
    if (r.rule == stretch::none) r.factor = 1;
    else if (!named && (r.rule == stretch::yarn || r.rule == stretch::longrope)) r.factor = 0;
    else if (!named) fail(trouble::missing, "rope_scaling.factor", {});
    // Both are the length that the model was trained for when the config names only one.
    if (r.rule != stretch::none && r.original == 0) r.original = r.max_position;
  }

 private:
  constexpr void word(json j, stretch& to) {
    for (const auto& w : rule_words)
      if (j.is_text() && j.text() == w.word) { to = w.rule; return; }
    fail(trouble::unknown_word, "rope_type", j, 0, 0, "default, linear, dynamic, llama3, yarn or longrope");
  }
  // In GGUF the lists are tensors; their reader shows them as "long_factor" and "short_factor".
  constexpr void read_factors(rotary& r) {
    if (r.rule != stretch::longrope) return;
    const json longs = at("rope_parameters.long_factor|rope_scaling.long_factor", "long_factor");
    const json shorts = at("rope_parameters.short_factor|rope_scaling.short_factor", "short_factor");
    if (!longs.present() || !shorts.present())
      return fail(trouble::missing, "rope_scaling.long_factor, rope_scaling.short_factor", {});
    if (!factors) return;
    factors->long_count = read_list("rope_scaling.long_factor", longs, factors->longs);
    factors->short_count = read_list("rope_scaling.short_factor", shorts, factors->shorts);
    r.factors = factors;
  }
};

template <class Config> struct parsed_config {
  Config config;
  config_problem bad;
};

template <class Family>
constexpr parsed_config<typename Family::config> read_config(json root, naming as, rope_factors* factors) {
  static_assert(std::size(Family::keys) == boost::pfr::tuple_size_v<typename Family::config>,
                "cke: config: a family has one key per field of its config, in field order");
  typename Family::config c = Family::defaults;
  config_reader r{root, as, factors};
  auto one = [&](const config_key& k, auto& field) {
    using field_type = std::remove_cvref_t<decltype(field)>;
    if constexpr (std::is_same_v<field_type, rotary>) {
      r.rope(field);
    } else {
      const json j = r.at(k.hf, k.gguf);
      const std::string_view key = as == naming::hf ? k.hf : k.gguf;
      if (j.present()) r.read(key, j, k.least, k.most, field);
      else if (!k.optional) r.fail(trouble::missing, key, j);
    }
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (one(Family::keys[I], boost::pfr::get<I>(c)), ...);
  }(std::make_index_sequence<std::size(Family::keys)>{});
  for (const requirement& must : Family::must_be)
    if (const json j = root[must.hf]; as == naming::hf && j.present()) {
      const std::string_view value = j.is_text() ? j.text() : j.s;
      if (value != must.literal) r.fail(trouble::unsupported, must.hf, j, 0, 0, must.literal);
    }
  if (r.bad.what == trouble::none) c = Family::finish(c);
  return {c, r.bad};
}

// What a family's numbers must satisfy together; false names the rule. Types check the same again.
template <class Config> constexpr config_problem check_config(const Config& c) {
  if (c.heads % c.kv_heads) return {trouble::unsupported, "num_attention_heads", {}, 0, 0, "a multiple of num_key_value_heads"};
  if (c.head_dim % 2 || c.head_dim == 0) return {trouble::unsupported, "head_dim", {}, 0, 0, "an even number"};
  if (c.rope.dims > c.head_dim || c.rope.dims % 2)
    return {trouble::unsupported, "rope.dimension_count", {}, 0, 0, "an even number up to head_dim"};
  return {};
}

// ---- a trusted config.json at compile time: using M = cke::from_config<text>; --------------------

// The message names what is wrong, the key, what was found, and for numbers the range.
template <trouble What, fixed_string Key, fixed_string Found, real Least, real Most> struct config_is_good {
  static_assert(What == trouble::none, "cke: config: config.json does not describe a model of this family; "
                                       "see config_is_good<what, key, found, least, most>");
};

// Text is a constexpr char array: only its name, not the json, enters mangled names.
template <const auto& Text> struct hf_text {
  static constexpr std::string_view text{Text, sizeof(Text) - 1};
  static constexpr json root{text.substr(json::seek(text, '{'))};
  static constexpr std::string_view model_type = root["model_type"].text();
  using family = cke::family<fixed_string<model_type.size() + 1>(model_type)>;
};
template <class From> concept of_known_family = requires { typename From::family::config; };

template <of_known_family From> struct hf_numbers {
  using family = typename From::family;
  static constexpr rope_factors factors = [] {
    rope_factors l{};
    read_config<family>(From::root, naming::hf, &l);
    return l;
  }();
  static constexpr config_problem bad = [] {
    rope_factors l{};
    const auto [config, wrong] = read_config<family>(From::root, naming::hf, &l);
    return wrong.what == trouble::none ? check_config(config) : wrong;
  }();
  static constexpr bool good = bad.what == trouble::none;
};

// A config that is no good has a type too, so that what is said about it is the only error.
template <class From> struct hf_model { using type = maps<1, 1>; };
template <of_known_family From> struct hf_model<From> {
  static constexpr config_problem bad = hf_numbers<From>::bad;
  static constexpr std::string_view found = bad.found.substr(0, 40);
  [[no_unique_address]] config_is_good<bad.what, fixed_string<bad.key.size() + 1>(bad.key), fixed_string<found.size() + 1>(found),
                                       bad.least, bad.most> check;
  using type = maps<1, 1>;
};
// gcc 12 takes the address of `factors` only from another, complete class.
template <of_known_family From>
  requires(hf_numbers<From>::good)
struct hf_model<From> {
  using family = typename From::family;
  static constexpr typename family::config read() {
    typename family::config c = read_config<family>(From::root, naming::hf, nullptr).config;
    if (c.rope.rule == stretch::longrope) c.rope.factors = &hf_numbers<From>::factors;
    return c;
  }
  static constexpr typename family::config config = read();
  using type = typename family::template type<config>;
};
template <const auto& Text> using from_config = typename hf_model<hf_text<Text>>::type;

}  // namespace cke
