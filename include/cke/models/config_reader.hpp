// SPDX-License-Identifier: MIT
// config_reader.hpp: values of a config.json, or of GGUF metadata shown as one: numbers, sets of layers, ropes.
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

struct rule_word { std::string_view word; rope_scaling rule; };
inline constexpr rule_word rule_words[] = {
    {"default", rope_scaling::none}, {"none", rope_scaling::none}, {"linear", rope_scaling::linear},
    {"dynamic", rope_scaling::dynamic}, {"llama3", rope_scaling::llama3}, {"yarn", rope_scaling::yarn},
    {"longrope", rope_scaling::longrope}, {"su", rope_scaling::longrope}, {"proportional", rope_scaling::proportional}};

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
    if (r.rule == rope_scaling::none) r.factor = 1;
    else if (!named && (r.rule == rope_scaling::yarn || r.rule == rope_scaling::longrope)) r.factor = 0;
    else if (!named && r.rule == rope_scaling::proportional) r.factor = 1;
    else if (!named) fail(trouble::missing, "rope_scaling.factor", {});
    // Both are the length that the model was trained for when the config names only one.
    if (r.rule == rope_scaling::none) r.original = 0;
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
      r.dims = r.rule == rope_scaling::proportional ? 2 * static_cast<u32>(fraction * head_dim / 2) : static_cast<u32>(fraction * head_dim);
    }
    if (r.dims == 0) r.dims = head_dim;
  }

 private:
  constexpr void word(json j, rope_scaling& to) {
    for (const auto& w : rule_words)
      if (j.is_text() && j.text() == w.word) { to = w.rule; return; }
    fail(trouble::unknown_word, "rope_type", j, 0, 0, "default, linear, dynamic, llama3, yarn, longrope or proportional");
  }
  // In GGUF the lists are tensors; their reader shows them as "long_factor" and "short_factor".
  constexpr void read_factors(rotary& r, json object) {
    if (r.rule != rope_scaling::longrope) return;
    const json in = as == naming::hf ? object : root, longs = in["long_factor"], shorts = in["short_factor"];
    if (!longs.present() || !shorts.present())
      return fail(trouble::missing, "rope_scaling.long_factor, rope_scaling.short_factor", {});
    if (!factors) return;
    factors->long_count = read_list("rope_scaling.long_factor", longs, factors->longs);
    factors->short_count = read_list("rope_scaling.short_factor", shorts, factors->shorts);
    r.factors = factors;
  }
};

}  // namespace cke
CKE_COLD_END
