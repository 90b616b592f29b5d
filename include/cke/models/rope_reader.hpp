// SPDX-License-Identifier: MIT
// rope_reader.hpp: how files spell a rope: its base, its rule for long contexts, and the rotated part of a head.
#pragma once

#include "config_reader.hpp"

CKE_COLD_BEGIN
namespace cke {

// The rope is in rope_parameters or rope_scaling, or beside it; in GGUF a rope's own key names its base.
inline constexpr config_key<rotary> rope_keys[] = {
    bind<&rotary::dims>({}, "rope.dimension_count").range(0, 1024),
    bind<&rotary::theta>(either("rope_theta", at_top("rope_theta"))).range(1, 1e12),
    bind<&rotary::pairs>(),
    bind<&rotary::rule>(either("rope_type", "type"), "rope.scaling.type"),
    bind<&rotary::factor>("factor", "rope.scaling.factor").range(1e-3, 1e6),
    bind<&rotary::low>("low_freq_factor").range(1e-6, 1e6),
    bind<&rotary::high>("high_freq_factor").range(1e-6, 1e6),
    bind<&rotary::beta_fast>("beta_fast", "rope.scaling.yarn_beta_fast").range(1e-6, 1e6),
    bind<&rotary::beta_slow>("beta_slow", "rope.scaling.yarn_beta_slow").range(1e-6, 1e6),
    bind<&rotary::mscale>("mscale", "rope.scaling.mscale").range(0, 1e6),
    bind<&rotary::mscale_all>("mscale_all_dim", "rope.scaling.mscale").range(0, 1e6),
    bind<&rotary::truncate>("truncate"),
    bind<&rotary::attention_factor>("attention_factor", "rope.scaling.attn_factor").range(0, 1e6),
    bind<&rotary::original>(either(at_top("original_max_position_embeddings"), "original_max_position_embeddings"),
                            "rope.scaling.original_context_length")
        .range(1, 1 << 28),
    bind<&rotary::max_position>(at_top("max_position_embeddings"), "context_length").range(1, 1 << 28),
    bind<&rotary::axes>(),
    bind<&rotary::section_t>(),
    bind<&rotary::section_h>(),
    bind<&rotary::section_w>(),
    bind<&rotary::interleaved>(),
    bind<&rotary::factors>()};
static_assert(binds_each_member_once<rotary>(rope_keys));

struct rule_word {
  std::string_view word;
  rope_scaling rule;
};
inline constexpr rule_word rule_words[] = {{"default", rope_scaling::none},
                                           {"none", rope_scaling::none},
                                           {"mrope", rope_scaling::none},  // its axes have keys of their own
                                           {"linear", rope_scaling::linear},
                                           {"dynamic", rope_scaling::dynamic},
                                           {"llama3", rope_scaling::llama3},
                                           {"yarn", rope_scaling::yarn},
                                           {"longrope", rope_scaling::longrope},
                                           {"su", rope_scaling::longrope},
                                           {"proportional", rope_scaling::proportional}};

struct rope_reader {
  config_reader& from;
  const config_field& key;
  std::string_view in{};  // the key of the object below
  json object{};          // where a config.json keeps the rope's numbers
  constexpr rope_reader(config_reader& r, const config_field& k) : from(r), key(k) {
    if (r.as != naming::hf) return;
    const json now = r.root["rope_parameters"], part = now[k.layer_type];
    const bool is_old = !k.local && !part.is_object() && (!now.present() || counts(r.root["rope_scaling"]));
    in = is_old ? "rope_scaling" : "rope_parameters";
    object = is_old ? r.root["rope_scaling"] : part.is_object() ? part : now;
  }

  CKE_OUT_OF_LINE constexpr void read(rotary& r) {
    if (from.as == naming::hf)
      for (const std::string_view name : {"rope_parameters", "rope_scaling"})
        if (const json j = from.root[name]; j.present() && !j.is_object()) from.fail(trouble::not_a_number, name, j);
    if (const json old = from.root["rope_scaling"]; in == "rope_parameters" && object.present() && counts(old))
      return from.fail(trouble::unsupported, "rope_scaling", old, 0, 0,
                       "none beside rope_parameters of kinds of layers");
    bool has_factor = false;
    for (const config_key<rotary>& k : rope_keys) {
      const config_reader::found f = find(k);
      if (!f.value.present() || (key.local && k.number == &rotary::max_position && !grows(r.rule))) continue;
      double v{};
      if (k.number) from.whole_number(f, k.least, k.most, r.*k.number);
      else if (k.flag) from.truth(f, r.*k.flag);
      else if (k.real_number && from.number(f.key, f.value, k.least, k.most, v)) r.*k.real_number = v;
      else if (k.rule) rule(f, r.rule);
      has_factor = has_factor || k.real_number == &rotary::factor;
    }
    read_factors(r);
    // 0 stands for the growth of the context
    if (r.rule == rope_scaling::none) r.factor = 1;
    else if (!has_factor && (r.rule == rope_scaling::yarn || r.rule == rope_scaling::longrope)) r.factor = 0;
    else if (!has_factor && r.rule == rope_scaling::proportional) r.factor = 1;
    else if (!has_factor)
      from.fail(trouble::missing, spelled("rope_parameters.factor", "rope_scaling.factor", "rope.scaling.factor"), {});
    // Both are the length that the model was trained for when the config names only one.
    if (r.rule == rope_scaling::none) r.original = 0;
    else if (r.original == 0) r.original = r.max_position;
    const bool asks = r.rule == rope_scaling::dynamic || r.original == 0 || r.factor.v == 0;
    if (r.max_position == 0 && grows(r.rule) && asks)
      from.fail(trouble::missing, from.as == naming::gguf ? "context_length" : "max_position_embeddings", {});
  }

  // The rotated part of a head, once the head's size is known.
  CKE_OUT_OF_LINE constexpr void read_part(rotary& r, u32 head_dim) {
    double fraction = 1;
    if (const json j = part(); j.present()) {
      if (!key.partial && j.number() != 1) return from.fail(trouble::unsupported, part_key, j, 0, 0, "1");
      if (!from.number(part_key, j, 1e-3, 1, fraction)) return;
      r.dims = r.rule == rope_scaling::proportional ? 2 * static_cast<u32>(fraction * head_dim / 2)
                                                    : static_cast<u32>(fraction * head_dim);
      if (r.dims == 0 && head_dim) from.fail(trouble::unsupported, part_key, j, 0, 0, "two dims of a head or more");
    }
    if (r.dims == 0) r.dims = head_dim;
  }
  constexpr void check_part(const rotary& r, u32 head_dim, std::string_view head_dim_key) {
    if (r.rule == rope_scaling::longrope && r.factors) {
      const factor_lists all = lists();
      for (const bool is_long : {true, false})
        if ((is_long ? r.factors->long_count : r.factors->short_count) != r.dims / 2)
          return from.fail(trouble::unsupported, is_long ? all.long_key : all.short_key,
                           is_long ? all.longs : all.shorts, 0, 0, "a number for every two dims that turn");
    }
    if (r.dims <= head_dim && r.dims % 2 == 0) return;
    const std::string_view gguf = "rope.dimension_count";
    if (part().present())
      from.fail(trouble::unsupported, part_key, part(), 0, 0, "an even number of dims of", head_dim_key);
    else if (from.as == naming::gguf && !key.local && from.root[gguf].present())
      from.fail(trouble::unsupported, gguf, {}, 0, 0, "an even number up to", head_dim_key);
    else from.fail(trouble::unsupported, head_dim_key, {}, 0, 0, "an even number");
  }

  // The key that a message about the whole rope names.
  constexpr std::string_view spelled() const {
    if (from.as == naming::gguf || object.present()) return from.as == naming::gguf ? key.gguf[0].text : in;
    return key.local ? "rope_local_base_freq" : "rope_theta";
  }

 private:
  static constexpr std::string_view part_key = "partial_rotary_factor";

  // Whether rope_scaling says something. As in transformers, it then counts before rope_parameters.
  static constexpr bool counts(json old) {
    return old.is_object() && !old.find([](std::string_view, json) { return true; }).s.empty();
  }
  // Whether the rule compares with the length that the model is for.
  static constexpr bool grows(rope_scaling rule) {
    return rule != rope_scaling::none && rule != rope_scaling::linear && rule != rope_scaling::proportional;
  }
  constexpr json part() const {
    if (from.as == naming::gguf) return {};
    const json j = object[part_key];
    return j.present() ? j : from.root[part_key];
  }
  constexpr std::string_view spelled(std::string_view now, std::string_view before, std::string_view gguf) const {
    return from.as == naming::gguf ? gguf : in == "rope_parameters" ? now : before;
  }
  // For sliding layers, GGUF and older configs give only the base.
  constexpr config_reader::found find(const config_key<rotary>& k) const {
    const bool base = k.real_number == &rotary::theta;
    if (from.as == naming::gguf && base) return {key.gguf[0].text, from.root[key.gguf[0].text]};
    if (from.as == naming::gguf) return key.local ? config_reader::found{} : from.find(k.gguf);
    config_reader::found f{};
    for (const spelling& n : k.hf) {
      if (n.take == taking::top && key.local && k.number != &rotary::max_position) continue;
      f = {n.text, n.take == taking::top ? from.root[n.text] : object[n.text]};
      if (f.value.present()) return f;
    }
    return key.local && base ? config_reader::found{"rope_local_base_freq", from.root["rope_local_base_freq"]} : f;
  }
  constexpr void rule(const config_reader::found& f, rope_scaling& to) {
    for (const auto& w : rule_words)
      if (f.value.is_text() && f.value.text() == w.word) {
        to = w.rule;
        return;
      }
    from.fail(trouble::unknown_word, f.key, f.value, 0, 0,
              "default, linear, dynamic, llama3, yarn, longrope or proportional");
  }
  // In GGUF the lists are tensors; the GGUF reader shows them as "long_factor" and "short_factor".
  struct factor_lists {
    json longs, shorts;
    std::string_view long_key, short_key;
  };
  constexpr factor_lists lists() const {
    const json all = from.as == naming::hf ? object : from.root;
    return {all["long_factor"], all["short_factor"],
            spelled("rope_parameters.long_factor", "rope_scaling.long_factor", "rope_factors_long.weight"),
            spelled("rope_parameters.short_factor", "rope_scaling.short_factor", "rope_factors_short.weight")};
  }
  constexpr void read_factors(rotary& r) {
    if (r.rule != rope_scaling::longrope) return;
    // A config has place for the lists of one rope.
    if (key.local)
      return from.fail(trouble::unsupported, "rope_type", object["rope_type"], 0, 0, "a rule without lists");
    const auto [longs, shorts, long_key, short_key] = lists();
    if (!longs.present() || !shorts.present())
      return from.fail(trouble::missing, longs.present() ? short_key : long_key, {});
    if (!from.factors) return;
    from.factors->long_count = from.list(long_key, longs, from.factors->longs);
    from.factors->short_count = from.list(short_key, shorts, from.factors->shorts);
    r.factors = from.factors;
  }
};

}  // namespace cke
CKE_COLD_END
