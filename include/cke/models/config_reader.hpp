// SPDX-License-Identifier: MIT
// config_reader.hpp: reads values of a config.json, or of GGUF metadata shown as one: numbers and sets of layers.
#pragma once

#include "config_key.hpp"

CKE_COLD_BEGIN
namespace cke {

// It knows keys, not configs: one reader serves all families.
struct config_reader {
  json root;
  naming as{};
  rope_factors* factors{};  // holds longrope's lists, to which the config points; null: the lists are not kept
  config_problem bad{};

  CKE_OUT_OF_LINE constexpr void fail(trouble what, std::string_view key, json at, double least = 0, double most = 0,
                                      std::string_view wanted = {}, std::string_view other = {}) {
    if (bad.what == trouble::none) bad = {what, key, at.s, least, most, wanted, other};
  }

  // A key as the file spells it, and its value; without a value, the key's first spelling.
  struct found {
    std::string_view key{};
    json value{};
    taking take{};
  };
  CKE_OUT_OF_LINE constexpr found find(const spellings& names) const {
    found none{names[0].text, {}, names[0].take};
    for (const spelling& n : names) {
      const json j = taken(n);
      const std::string_view key = n.take == taking::per_layer ? per_layer_config : n.text;
      if (j.present()) return {key, j, n.take};
      if (none.value.s.empty() && !j.s.empty()) none = {key, j, n.take};  // null
    }
    return none;
  }
  // The key's name, or the member's name if this kind of file has no word for the key.
  constexpr found found_at(const config_field& k) const { return k.in(as).none() ? found{k.name} : find(k.in(as)); }
  template <class Keys> constexpr std::string_view spelled(const Keys& keys, std::string_view member) const {
    for (const config_field& k : keys)
      if (k.name == member) return found_at(k).key;
    return member;
  }

  CKE_OUT_OF_LINE constexpr bool number(std::string_view key, json j, double least, double most, double& out) {
    double v = j.number();
    if (const json inf = j["__float__"]; j.s == "Infinity" || (inf.is_text() && inf.text() == "Infinity")) v = 1e300;
    else if (!j.is_number()) return fail(trouble::not_a_number, key, j, least, most), false;
    if (!(v >= least && v <= most)) return fail(trouble::out_of_range, key, j, least, most), false;
    out = v;
    return true;
  }
  CKE_OUT_OF_LINE constexpr void whole_number(const found& f, double least, double most, u32& to) {
    double v{};
    if (!number(f.key, f.value, least, most, v)) return;
    if (v != static_cast<double>(static_cast<u64>(v))) return fail(trouble::out_of_range, f.key, f.value, least, most);
    to = static_cast<u32>(v);
  }
  constexpr void truth(const found& f, bool& to) {
    if (!f.value.is_bool()) return fail(trouble::not_a_bool, f.key, f.value);
    to = f.value.truth();
  }
  constexpr u32 list(std::string_view key, json j, double* to) {
    u32 n = 0;
    if (!j.is_array()) return fail(trouble::not_a_number, key, j, 1e-6, 1e6), 0;
    j.find([&](std::string_view, json e) {
      if (n == std::size(factors->longs)) return fail(trouble::out_of_range, key, j, 1e-6, 1e6), true;
      return !number(key, e, 1e-6, 1e6, to[n++]);
    });
    return n;
  }

  // Whether the file has a value for the key. If not, null or the default may supply it; otherwise the key is missing.
  constexpr bool has(const config_field& k, const found& f, double& usual) {
    const bool null = k.zero_is_null && as == naming::gguf && f.value.is_number() && f.value.number() == 0;
    if (f.value.present() && !null && (k.absent_word.empty() || f.value.text() != k.absent_word)) return true;
    if (k.null >= 0 && !f.value.s.empty()) usual = k.null;
    else if (k.needed || (!k.derived && !(usual >= k.least && usual <= k.most))) fail(trouble::missing, f.key, f.value);
    return false;
  }
  CKE_OUT_OF_LINE constexpr void read(const config_field& k, u32& to) {
    const found f = find(k.in(as));
    double usual = to;
    if (!has(k, f, usual)) {
      to = static_cast<u32>(usual);
    } else if (f.take == taking::count && (f.value.is_array() || f.value.is_text())) {
      to = f.value.is_text() ? static_cast<u32>(f.value.text().size()) : f.value.size();
      if (!(to >= k.least && to <= k.most)) fail(trouble::out_of_range, f.key, f.value, k.least, k.most);
    } else {
      whole_number(f, k.least, k.most, to);
    }
  }
  CKE_OUT_OF_LINE constexpr void read(const config_field& k, real& to) {
    const found f = find(k.in(as));
    if (has(k, f, to.v)) number(f.key, f.value, k.least, k.most, to.v);
  }
  // A flag, or a word that stands for one.
  CKE_OUT_OF_LINE constexpr void read(const config_field& k, bool& to) {
    double usual = 0;
    const found f = find(k.in(as));
    if (!has(k, f, usual)) return;
    if (!k.words) return truth(f, to);
    to = f.value.is_text() && k.words->in.has(f.value.text());
    if (!to && !(f.value.is_text() && k.words->out.has(f.value.text()))) unknown(k, f.key, f.value);
  }
  // Accepts words or letters, one for each layer; one word for all layers; numbers, of which 0 leaves a layer out; the
  // numbers of the layers in the set; or a number n for all but every n-th layer. A list must have `count` entries.
  CKE_OUT_OF_LINE constexpr void read(const config_field& k, u32 count, layer_set& to) {
    const found f = find(k.in(as));
    const json j = f.value;
    double usual = 1;
    if (!has(k, f, usual)) return;
    if (f.take == taking::numbers) return numbered(f, to);
    if (j.is_array()) listed(k, f, to);
    else if (!j.text().empty() || (as == naming::gguf && j.is_bool())) lettered(k, f, to);
    else if (u32 n = 0; whole_number(f, k.least, k.most, n), n) to = layer_set::all_but_every(n);
    // GGUF may also list layers that only predict ahead.
    if (j.is_array() && (as == naming::hf ? j.size() != count : j.size() < count))
      fail(trouble::out_of_range, f.key, j, count, count);
  }

  constexpr void check(const requirement& must) {
    const json j = root[must.hf];
    if (as != naming::hf || !j.present()) return;
    const std::string_view value = j.is_text() ? j.text() : j.s;
    if (value != must.literal) fail(trouble::unsupported, must.hf, j, 0, 0, must.literal);
  }
  // For a family whose layers are all alike.
  constexpr void all_see_everything() {
    constexpr std::string_view key = "layer_types";
    if (as != naming::hf) return;
    root[key].find([&](std::string_view, json e) {
      if (e.text() != "full_attention") fail(trouble::unsupported, key, e, 0, 0, "full_attention");
      return false;
    });
  }

 private:
  static constexpr std::string_view per_layer_config = "per_layer_config";

  CKE_OUT_OF_LINE constexpr json taken(const spelling& n) const {
    if (n.take == taking::per_layer) {
      const json own = root[per_layer_config], value = own.find([](std::string_view, json) { return true; })[n.text];
      return own.present() && !value.present() ? root[n.text] : value;  // what layers do not have of their own
    }
    const json j = root[n.text];
    if (n.take == taking::element) return j.element(n.index);
    if (n.take == taking::varies) return j.is_array() ? varying(j) : json{};
    if (n.take == taking::list || n.take == taking::numbers)
      return j.is_array() || n.take == taking::numbers ? j : json{};
    return j.is_array() ? one_of(j, n.take) : j;
  }
  static constexpr json varying(json j) {
    const json first = j.element(0);
    const json other = j.find([&](std::string_view, json e) { return e.s != first.s; });
    return {other.s.empty() ? "false" : "true"};
  }
  static constexpr json one_of(json j, taking take) {
    if (take == taking::first) return j.element(0);
    if (take == taking::last) return j.element(j.size() - 1);
    if (take != taking::largest && take != taking::same) return j;
    json most = j.element(0);
    j.find([&](std::string_view, json e) {
      if (e.number() > most.number()) most = e;
      return false;
    });
    const json other = j.find([&](std::string_view, json e) { return e.s != "0" && e.s != most.s; });
    return take == taking::same && !other.s.empty() ? j : most;
  }

  constexpr void unknown(const config_field& k, std::string_view key, json at) {
    if (bad.what == trouble::none) bad = {trouble::unsupported, key, at.s, 0, 0, {}, {}, k.words};
  }
  constexpr void lettered(const config_field& k, const found& f, layer_set& to) {
    const std::string_view text = f.value.text();
    const bool all = f.value.truth() || k.words->in.has(text);
    to = all ? layer_set::up_to(layer_set::most) : layer_set{};
    if (f.value.is_bool() || all || k.words->out.has(text)) return;
    for (u32 layer = 0; layer < text.size(); ++layer) {
      const bool in = k.words->in.has(text.substr(layer, 1));
      if (layer == layer_set::most || !(in || k.words->out.has(text.substr(layer, 1))))
        return unknown(k, f.key, f.value);
      if (in) to.add(layer);
    }
  }
  constexpr void listed(const config_field& k, const found& f, layer_set& to) {
    to = {};
    u32 layer = 0;
    f.value.find([&](std::string_view, json e) {
      if (layer == layer_set::most) return fail(trouble::out_of_range, f.key, f.value, k.least, k.most), true;
      const bool counts = as == naming::gguf && e.is_number() && e.s != "0";
      const bool in = k.words->in.has(e.text()) || e.s == "1" || e.truth() || counts;
      if (in) to.add(layer);
      else if (!k.words->out.has(e.text()) && e.s != "0" && !e.is_bool()) unknown(k, f.key, e);
      ++layer;
      return false;
    });
  }
  constexpr void numbered(const found& f, layer_set& to) {
    if (!f.value.is_array()) return fail(trouble::not_a_number, f.key, f.value, 0, layer_set::most - 1);
    to = {};
    f.value.find([&](std::string_view, json e) {
      u32 layer{};
      whole_number({f.key, e, f.take}, 0, layer_set::most - 1, layer);
      return to.add(layer), false;
    });
  }
};

}  // namespace cke
CKE_COLD_END
