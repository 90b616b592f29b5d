// SPDX-License-Identifier: MIT
// config.hpp: a config.json (or GGUF metadata shown as one) becomes a family's config aggregate.
// The same reader runs on constants, for a program's own model, and on files at run time.
#pragma once

#include <boost/pfr/core.hpp>
#include <iterator>

#include "family.hpp"

CKE_COLD_BEGIN
namespace cke {

// One row per field of `rotary`, in order: its name, in rope_parameters or rope_scaling, beside those, in GGUF.
struct rope_key {
  std::string_view field, hf, outer, gguf;
  double least, most;
};
inline constexpr rope_key rope_keys[] = {
    {"dims", "", "", "rope.dimension_count", 0, 1024},
    {"theta", "rope_theta", "rope_theta", "", 1, 1e12},  // in GGUF the row of the rope names it
    {"pairs", "", "", "", 0, 0},
    {"rule", "", "", "", 0, 0},
    {"factor", "factor", "", "rope.scaling.factor", 1e-3, 1e6},
    {"low", "low_freq_factor", "", "", 1e-6, 1e6},
    {"high", "high_freq_factor", "", "", 1e-6, 1e6},
    {"beta_fast", "beta_fast", "", "rope.scaling.yarn_beta_fast", 1e-6, 1e6},
    {"beta_slow", "beta_slow", "", "rope.scaling.yarn_beta_slow", 1e-6, 1e6},
    {"mscale", "mscale", "", "rope.scaling.mscale", 0, 1e6},
    {"mscale_all", "mscale_all_dim", "", "rope.scaling.mscale", 0, 1e6},
    {"truncate", "truncate", "", "", 0, 1},
    {"attention_factor", "attention_factor", "", "rope.scaling.attn_factor", 0, 1e6},
    {"original", "original_max_position_embeddings", "original_max_position_embeddings", "rope.scaling.original_context_length", 1, 1 << 28},
    {"max_position", "", "max_position_embeddings", "context_length", 1, 1 << 28},
    {"factors", "", "", "", 0, 0}};
static_assert(std::size(rope_keys) == boost::pfr::tuple_size_v<rotary>);

struct rule_word { std::string_view word; stretch rule; };
inline constexpr rule_word rule_words[] = {
    {"default", stretch::none}, {"none", stretch::none}, {"linear", stretch::linear},
    {"dynamic", stretch::dynamic}, {"llama3", stretch::llama3}, {"yarn", stretch::yarn},
    {"longrope", stretch::longrope}, {"su", stretch::longrope}, {"proportional", stretch::proportional}};

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
    if (as == naming::hf) return hf.empty() ? json{} : root.path(hf);
    json found;  // flat: its keys have dots
    for (u32 i = 0; !alternative(gguf, i).empty() && !found.present(); ++i) found = root[alternative(gguf, i)];
    return found;
  }

  CKE_OUT_OF_LINE constexpr bool number(std::string_view key, json j, double least, double most, double& out) {
    double v = j.number();
    if (const json inf = j["__float__"]; j.s == "Infinity" || (inf.is_text() && inf.text() == "Infinity")) v = 1e300;
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
  // Whatever names each layer says how many there are.
  constexpr void count(std::string_view key, json j, double least, double most, u32& to) {
    if (!j.is_array() && !j.is_text()) return read(key, j, least, most, to);
    to = j.is_array() ? j.size() : static_cast<u32>(j.text().size());
    if (!(to >= least && to <= most)) fail(trouble::out_of_range, key, j, least, most);
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

  static constexpr bool is_one_of(std::string_view name, std::string_view names) {
    for (u32 i = 0; !alternative(names, i).empty(); ++i)
      if (alternative(names, i) == name) return true;
    return false;
  }
  // Layers by name, by a letter each, by numbers of which 0 is another layer's, by one word for all, or "all but every n-th".
  CKE_OUT_OF_LINE constexpr void layers(const config_key& k, std::string_view key, json j, layer_set& to) {
    constexpr std::string_view between = " or ";
    const double least = k.least, most = k.most;
    const std::size_t end = k.kinds.find(between);
    const std::string_view others = k.kinds.substr(0, end), ours = k.kinds.substr(end + between.size());
    if (!j.text().empty() || (as == naming::gguf && j.is_bool())) {
      const std::string_view text = j.text();
      const bool all = j.truth() || is_one_of(text, ours);
      to = all ? layer_set::up_to(layer_set::most) : layer_set{};
      if (j.is_bool() || all || is_one_of(text, others)) return;
      for (u32 layer = 0; layer < text.size(); ++layer) {
        const bool in = is_one_of(text.substr(layer, 1), ours);
        if (layer == layer_set::most || !(in || is_one_of(text.substr(layer, 1), others))) return fail(trouble::unsupported, key, j, 0, 0, k.kinds);
        if (in) to.add(layer);
      }
      return;
    }
    if (!j.is_array()) {
      u32 n{};
      read(key, j, least, most, n);
      if (n) to = layer_set::all_but_every(n);
      return;
    }
    to = {};
    u32 layer = 0;
    j.find([&](std::string_view, json e) {
      if (layer == layer_set::most) return fail(trouble::out_of_range, key, j, least, most), true;
      const bool counts = as == naming::gguf && e.is_number() && e.s != "0";
      const bool in = is_one_of(e.text(), ours) || e.s == "1" || e.truth() || counts;
      if (in) to.add(layer);
      else if (!is_one_of(e.text(), others) && e.s != "0" && !e.is_bool()) fail(trouble::unsupported, key, e, 0, 0, k.kinds);
      ++layer;
      return false;
    });
  }
  // Layers by their numbers.
  CKE_OUT_OF_LINE constexpr void numbered(std::string_view key, json j, layer_set& to) {
    if (!j.is_array()) return fail(trouble::not_a_number, key, j, 0, layer_set::most - 1);
    to = {};
    j.find([&](std::string_view, json e) {
      u32 layer{};
      read(key, e, 0, layer_set::most - 1, layer);
      return to.add(layer), false;
    });
  }

  // Where a rope's numbers stand: its part of rope_parameters, else rope_scaling.
  constexpr json rope_object(const config_key& k) const {
    const json now = root["rope_parameters"], part = now[k.hf];
    return part.is_object() ? part : now.present() ? now : k.hf == key::local_rope.hf ? json{} : root["rope_scaling"];
  }
  constexpr json rope_value(const config_key& k, json object, const rope_key& row) const {
    const bool theta = row.hf == "rope_theta", local = k.hf == key::local_rope.hf;
    if (as == naming::gguf) return theta ? root[k.gguf] : local ? json{} : root[row.gguf];
    if (const json j = object[row.hf]; j.present() && !row.hf.empty()) return j;
    if (local) return theta ? root["rope_local_base_freq"] : json{};
    return row.outer.empty() ? json{} : root[row.outer];
  }

  constexpr void rope(const config_key& k, rotary& r) {
    const json object = as == naming::hf ? rope_object(k) : json{};
    if (as == naming::hf) {
      for (const std::string_view name : {"rope_parameters", "rope_scaling"})
        if (const json j = root[name]; j.present() && !j.is_object()) fail(trouble::not_a_number, name, j);
      if (const json rule = object.path("rope_type|type"); rule.present()) word(rule, r.rule);
    } else if (const json rule = root["rope.scaling.type"]; rule.present() && k.hf != key::local_rope.hf) {
      word(rule, r.rule);
    }
    auto one = [&](const rope_key& row, auto& field) {
      const json j = rope_value(k, object, row);
      if (!j.present()) return;
      const std::string_view name = as == naming::gguf ? (row.gguf.empty() ? k.gguf : row.gguf) : row.hf.empty() ? row.outer : row.hf;
      if constexpr (requires { read(name, j, 0., 0., field); }) read(name, j, row.least, row.most, field);
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (one(rope_keys[I], boost::pfr::get<I>(r)), ...);
    }(std::make_index_sequence<std::size(rope_keys)>{});
    read_factors(r, object);
    // 0: by how much the context grew
    const bool named = rope_value(k, object, rope_keys[4]).present();
    if (r.rule == stretch::none) r.factor = 1;
    else if (!named && (r.rule == stretch::yarn || r.rule == stretch::longrope)) r.factor = 0;
    else if (!named && r.rule == stretch::proportional) r.factor = 1;
    else if (!named) fail(trouble::missing, "rope_scaling.factor", {});
    // Both are the length that the model was trained for when the config names only one.
    if (r.rule == stretch::none) r.original = 0;
    else if (r.original == 0) r.original = r.max_position;
  }

  // The rotated part of a head, once its size is known.
  constexpr void rope_part(const config_key& k, rotary& r, u32 head_dim) {
    const json part = as == naming::hf ? rope_object(k)["partial_rotary_factor"] : json{};
    const json j = part.present() || as == naming::gguf ? part : root["partial_rotary_factor"];
    double fraction = 1;
    if (j.present()) {
      if (k.least == k.most && j.number() != k.most) return fail(trouble::unsupported, "partial_rotary_factor", j, 0, 0, "1");
      if (!number("partial_rotary_factor", j, k.least, k.most, fraction)) return;
      r.dims = r.rule == stretch::proportional ? 2 * static_cast<u32>(fraction * head_dim / 2) : static_cast<u32>(fraction * head_dim);
    }
    if (r.dims == 0) r.dims = head_dim;
  }

 private:
  constexpr void word(json j, stretch& to) {
    for (const auto& w : rule_words)
      if (j.is_text() && j.text() == w.word) { to = w.rule; return; }
    fail(trouble::unknown_word, "rope_type", j, 0, 0, "default, linear, dynamic, llama3, yarn, longrope or proportional");
  }
  // In GGUF the lists are tensors; their reader shows them as "long_factor" and "short_factor".
  constexpr void read_factors(rotary& r, json object) {
    if (r.rule != stretch::longrope) return;
    const json in = as == naming::hf ? object : root, longs = in["long_factor"], shorts = in["short_factor"];
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
      } else if (j.present()) {
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

// ---- a trusted config.json at compile time: using M = cke::from_config<text>; --------------------

// The message names what is wrong, the key, what was found, and for numbers the range.
template <trouble What, fixed_string Key, fixed_string Found, real Least, real Most> struct config_is_good {
  static_assert(What == trouble::none, "cke: config: config.json does not describe a model of this family; "
                                       "see config_is_good<what, key, found, least, most>");
};

// Text is a constexpr char array: only its name, not the json, enters mangled names.
template <const auto& Text> struct hf_text {
  static constexpr std::string_view text{Text, sizeof(Text) - 1};
  static constexpr json all{text.substr(json::seek(text, '{'))}, nested = all["text_config"];
  static constexpr json root = nested.is_object() ? nested : all;
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
CKE_COLD_END
