// SPDX-License-Identifier: MIT
// describe_code.hpp: one code of a program as JSON: steps, weights, registers, and both forms of its schedule.
#pragma once

#include <string>

#include "../core/json_writer.hpp"
#include "contract.hpp"
#include "program_data.hpp"

CKE_COMPILED_ONCE
namespace cke::graph::detail {

constexpr std::string_view word(split s) {
  constexpr std::string_view words[]{"per_thread", "tokens", "rows", "kv_heads", "tiles", "experts", "macro"};
  return words[static_cast<u8>(s)];
}
constexpr std::string_view word(form f) { return f == form::decode ? "decode" : "prefill"; }
constexpr std::string_view word(keeps_what w) {
  constexpr std::string_view words[]{"kv", "conv", "delta", "ssm"};
  return words[static_cast<u8>(w)];
}
constexpr std::string_view word(lifecycle l) {
  return l == lifecycle::slot_persistent ? "slot_persistent" : "step_ephemeral";
}
constexpr std::string_view word(activation a) {
  constexpr std::string_view words[]{"silu", "gelu_tanh", "gelu_erf", "relu2"};
  return words[static_cast<u8>(a)];
}
constexpr std::string_view word(position_rule r) {
  constexpr std::string_view words[]{"raster", "bilinear", "by_axis", "resized", "bucketed", "sequence"};
  return words[static_cast<u8>(r)];
}
constexpr std::string_view word(pairing p) {
  constexpr std::string_view words[]{"split", "adjacent", "split_halves"};
  return words[static_cast<u8>(p)];
}
constexpr std::string_view word(rope_axes a) {
  constexpr std::string_view words[]{"sequence", "row_column", "column_row", "alternate"};
  return words[static_cast<u8>(a)];
}
constexpr std::string_view word(scoring s) {
  constexpr std::string_view words[]{"softmax", "softmax_of_chosen", "sigmoid"};
  return words[static_cast<u8>(s)];
}
constexpr std::string_view word(rope_scaling s) {
  constexpr std::string_view words[]{"default", "linear", "dynamic", "llama3", "yarn", "longrope", "proportional"};
  return words[static_cast<u8>(s)];
}

// The rule that names a slot's tensor, or null: a model need not have names.
inline const name_rule* name_rule_of(std::span<const name_rule> rules, place where, const weight_slot& w) {
  for (std::size_t i = rules.size(); i-- > 0;)
    if (rules[i].where == where && rules[i].is == w.is && rules[i].nth == w.nth) return &rules[i];
  return nullptr;
}

// The first name that a rule gives a tensor; "{}" stands for numbers.
inline std::string pattern_of(const spellings& names, const char* ending) {
  const spelling& name = names[0];
  std::string text(name.text);
  if (name.is_part())
    text +=
        (name.take == taking::rows ? "[" : "<") + std::to_string(name.index) + (name.take == taking::rows ? "]" : ">");
  return name.is_exact ? text : text + ending;
}

template <class List> void put_indices(json_writer& j, std::string_view key, const List& list) {
  j.array(key, [&] {
    for (u32 i = 0; i < list.count; ++i) j.put("", u32{list[i]});
  });
}

// A field of a parameter block. A zero means absent, as in the alphabet.
struct field_writer {
  json_writer& j;
  void operator()(std::string_view key, auto value) const {
    if (value != decltype(value){}) j.put(key, value);
  }
  void operator()(std::string_view key, real value) const { (*this)(key, value.v); }
  void operator()(std::string_view key, activation value) const { j.put(key, word(value)); }
  void operator()(std::string_view key, position_rule value) const { j.put(key, word(value)); }
  void operator()(std::string_view key, const router& r) const {
    j.object(key, [&] {
      j.put("experts", r.experts), j.put("active", r.active), j.put("score", word(r.score));
      (*this)("bias", r.bias), (*this)("renormalise", r.renormalise);
      if (r.groups_kept < r.groups) {
        j.put("groups", r.groups), j.put("groups_kept", r.groups_kept);
        j.put("group_by", r.group_by == group_score::best ? "best" : "best_two");
      }
      if (r.scale.v != 1) j.put("scale", r.scale.v);
    });
  }
  void operator()(std::string_view key, const rotary& r) const {
    if (r.dims == 0) return;
    j.object(key, [&] {
      j.put("dims", r.dims), j.put("theta", r.theta.v);
      j.put("pairs", word(r.pairs)), j.put("rule", word(r.rule));
      if (r.axes != rope_axes::sequence) j.put("axes", word(r.axes));
      if (r.section_t + r.section_h + r.section_w > 0)
        j.array("sections", [&] { j.put("", r.section_t), j.put("", r.section_h), j.put("", r.section_w); });
      (*this)("interleaved", r.interleaved);
      if (r.rule == rope_scaling::none) return;
      j.put("factor", r.factor.v), (*this)("original", r.original), (*this)("max_position", r.max_position);
      if (r.rule == rope_scaling::llama3) j.put("low_freq_factor", r.low.v), j.put("high_freq_factor", r.high.v);
      if (r.rule == rope_scaling::yarn) j.put("beta_fast", r.beta_fast.v), j.put("beta_slow", r.beta_slow.v);
      (*this)("attention_factor", r.attention_factor.v);
    });
  }
};

inline void put_form(json_writer& j, const code& c, form f, u32 rows) {
  const schedule s = phases_of(c, f);
  const layout l = place_registers(c, f, rows);
  j.object(word(f), [&] {
    j.put("rows", rows), j.put("barriers", s.barriers());
    j.array("phases", [&] {
      for (const phase& p : s.phases)
        j.object("", [&] {
          j.put("first", u32{p.first}), j.put("per_thread", u32{p.per_thread}), j.put("steps", u32{p.count});
          j.put("split", word(p.by)), j.put("barrier", p.barrier);
        });
    });
    j.array("registers", [&] {
      for (u32 r = first_scratch; r < c.regs.size(); ++r) {
        const lifetime life = lifetime_of(c, s, r);
        if (l.bytes[r] == 0) continue;
        j.object("", [&] {
          j.put("register", r), j.put("offset", l.offset[r]), j.put("bytes", l.bytes[r]);
          j.put("memory", l.is_per_thread(r) ? "per_thread" : "shared");
          j.put("from_barrier", life.from), j.put("to_barrier", life.to);
        });
      }
    });
    j.put("shared_bytes", l.shared), j.put("per_thread_bytes", l.per_thread);
  });
}

// The slots of a code, under the names that rules give them.
inline void put_weights(json_writer& j, std::span<const name_rule> rules, place where, const code& c) {
  for (u32 i = 0; i < c.slots.size(); ++i) {
    const weight_slot& w = c.slots[i];
    const name_rule* names = name_rule_of(rules, where, w);
    const char* ending = w.bias ? ".bias" : ".weight";
    j.object("", [&] {
      j.put("slot", i), j.put("role", name(w.is)), j.put("nth", u32{w.nth}), j.put("bias", w.bias);
      j.array("shape", [&] {
        if (w.quantisable || w.rows > 1) j.put("", w.rows);
        j.put("", w.cols);
      });
      j.put("format", info(c.formats[i]).name), j.put("bytes", bytes_of(c.formats[i], w.elements()));
      if (w.tied) j.put("tied", true);
      if (of_experts(w.is)) j.put("experts", w.rows / w.group);
      if (names) j.put("hf", pattern_of(names->hf, ending)), j.put("gguf", pattern_of(names->gguf, ending));
    });
  }
}

// `unfused`: c before fusion. c is the code of `layers` layers, the first of them `first`, in passes of `rows` rows.
inline void put_code(json_writer& j, std::span<const name_rule> rules, const std::string& title, place where,
                     const code& c, const code& unfused, u32 first, u32 layers, u32 rows) {
  const compiled_plan plan = compile(c);
  j.object("", [&] {
    j.put("name", title), j.put("first_layer", first), j.put("layers", layers);
    j.array("registers", [&] {
      for (u32 r = 0; r < c.regs.size(); ++r)
        j.object("", [&] {
          j.put("register", r), j.put("width", c.regs[r].width);
          if (c.regs[r].rows > 1) j.put("rows_of_token", c.regs[r].rows);
          j.put("type", r == token_ids ? "u32" : info(c.regs[r].as).name);
        });
    });
    j.array("instructions", [&] {
      for (const instruction& i : c.ops)
        j.object("", [&] {
          j.put("op", name(i.op)), j.put("number", u32{static_cast<u8>(i.op)});
          j.put("letter", name(i.letter)), j.put("group", u32{i.group});
          put_indices(j, "in", i.in), put_indices(j, "out", i.out), put_indices(j, "weights", i.weight);
          if (i.state != absent) j.put("state", u32{i.state});
          j.object("params", [&] { i.p.visit([&](const auto& block) { block.each(field_writer{j}); }); });
        });
    });
    j.array("letters", [&] {
      for (const macro_instruction& m : contract(unfused).instructions)
        j.object("", [&] { j.put("op", name(m.op)), j.put("number", u32{static_cast<u8>(m.op)}); });
    });
    j.array("weights", [&] { put_weights(j, rules, where, c); });
    j.array("states", [&] {
      for (const state_shape& s : c.states)
        j.object("", [&] {
          j.put("what", word(s.what)), j.put("lifecycle", word(s.life));
          if (is_recurrent(s.what)) j.put("rows", s.rows);
          j.put("heads", s.heads), j.put("head_dim", s.head_dim);
        });
    });
    j.object("liveness", [&] {
      j.put("peak_registers", u32{plan.peak_registers});
      j.put("physical_registers", u32{map_registers(plan, rows).count});
    });
    j.object("forms", [&] {
      put_form(j, c, form::decode, rows < decode_rows ? rows : decode_rows);
      if (rows > decode_rows) put_form(j, c, form::prefill, rows);
    });
  });
}

// Calls f(name, place, kind, code, unfused code, first layer, layers, rows of a pass) for each distinct code.
template <class F> void each_code(const program_data& p, capacity k, F f) {
  f(std::string("header"), place::header, *p.header, *p.unfused_header, 0u, 1u, k.chunk);
  for (u32 v = 0; v < p.body_count; ++v) {
    u32 first = p.layers, n = 0;
    for (u32 l = p.layers; l-- > 0;)
      if (p.variant_of[l] == v) first = l, ++n;
    f("body " + std::to_string(v), place::body, *p.bodies[v], p.unfused[p.variants[v].kind], first, n, k.chunk);
  }
  f(std::string("footer"), place::footer, *p.footer, *p.unfused_footer, 0u, 1u, k.logit_rows);
}

}  // namespace cke::graph::detail
