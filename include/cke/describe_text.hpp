// SPDX-License-Identifier: MIT
// describe_text.hpp: a program for people: one line per instruction, and a map of its memory.
#pragma once

#include <cstdio>

#include "describe.hpp"

namespace cke {

namespace detail {

inline std::string shape_text(const weight_slot& w) {
  return w.quantisable ? "[" + std::to_string(w.rows) + ", " + std::to_string(w.cols) + "]" : "[" + std::to_string(w.cols) + "]";
}
template <class List> std::string list_text(char sigil, const List& list) {
  std::string s;
  for (u32 i = 0; i < list.count; ++i) s += (i ? " " : "") + (sigil + std::to_string(list[i]));
  return s;
}

// "offset end size buffer shape", in bytes; areas follow one another.
class memory_map {
 public:
  std::string text = "          offset            end           size  buffer               shape\n";
  void area(const std::string& title) { text += "# " + title + '\n'; }
  void line(u64 offset, u64 bytes, const std::string& buffer, const std::string& shape) {
    char numbers[64];
    std::snprintf(numbers, sizeof numbers, "%16llu %14llu %14llu  ", static_cast<unsigned long long>(offset),
                  static_cast<unsigned long long>(offset + bytes), static_cast<unsigned long long>(bytes));
    std::string name = buffer;
    if (name.size() < 20) name.resize(20, ' ');
    text += numbers + name + ' ' + shape + '\n';
  }
};

}  // namespace detail

// The memory map of P = program<Model, Formats, Fused>, planned for k with caches of kv.
template <class P> std::string describe_memory(capacity k, dtype kv) {
  using namespace detail;
  memory_map map;
  map.area("weights, as stored in a file");
  P::for_each_weight([&](const weight& w) {
    const name_rule* rule = name_rule_of<typename P::model_list>(w.where, w.slot);
    std::string title(rule ? rule->gguf : name(w.slot.is));
    if (const auto hole = title.find("{}"); hole != title.npos) title.replace(hole, 2, std::to_string(w.layer));
    map.line(w.offset, w.bytes, title + (w.slot.bias ? ".bias" : ".weight"), shape_text(w.slot) + ' ' + std::string(info(w.as).name));
  });
  map.area("states of a session");
  P::for_each_state(k.context, kv, [&](const state_descriptor& d) {
    map.line(d.offset, d.bytes, "kv " + std::to_string(d.layer),
             "[2, " + std::to_string(d.heads) + ", " + std::to_string(d.positions) + ", " + std::to_string(d.head_dim) + "] " + std::string(info(kv).name));
  });
  const auto m = P::activations(k);
  map.area("activations");
  map.line(0, m.stream, "stream", "[" + std::to_string(k.chunk) + ", " + std::to_string(P::dim) + "] f32");
  map.line(m.stream, m.ids, "token_ids", "[" + std::to_string(k.chunk) + "] u32");
  map.line(m.stream + m.ids, m.scratch, "scratch", "shared by all blocks");
  each_code<P>(k, [&](const std::string& title, place, const code& c, const code&, u32, u32, u32 rows) {
    const layout l = place_registers(c, form_of(rows), rows);
    for (const bool own : {false, true}) {
      if ((own ? l.own : l.shared) == 0) continue;
      map.area(title + (own ? ": private memory of each thread" : ": inside scratch"));
      for (u32 r = first_scratch; r < c.regs.size(); ++r)
        if (l.bytes[r] && l.is_own(r) == own)
          map.line(l.offset[r], l.bytes[r], "r" + std::to_string(r),
                   "[" + std::to_string(rows) + ", " + std::to_string(c.regs[r].width) + "] " + std::string(info(c.regs[r].as).name));
    }
  });
  return map.text;
}

// Sizes, instructions with their phases at decode, and the memory map.
template <class P> std::string describe_text(capacity k, dtype kv) {
  using namespace detail;
  std::string s = std::to_string(P::parameters) + " parameters, " + std::to_string(P::layers) + " layers, " +
                  std::to_string(P::count()) + " steps, " + std::to_string(P::barriers(form::decode)) + " barriers a token\n";
  each_code<P>(k, [&](const std::string& title, place, const code& c, const code&, u32, u32 layers, u32) {
    s += "\n" + title + (title.starts_with("body") ? " (" + std::to_string(layers) + " layers)" : "") + '\n';
    const schedule plan = phases_of(c, form::decode);
    for (u32 p = 0; p < plan.phases.size(); ++p)
      for (u32 n = 0; n < u32{plan.phases[p].redundant} + plan.phases[p].count; ++n) {
        const instruction& i = c.ops[plan.phases[p].first + n];
        std::string line = "  " + std::to_string(p) + "  " + list_text('r', i.out);
        if (line.size() < 18) line.resize(18, ' ');
        line += " = " + std::string(name(i.op)) + ' ' + list_text('r', i.in);
        for (u32 w = 0; w < i.weight.count; ++w) {
          const weight_slot& slot = c.slots[i.weight[w]];
          line += ' ' + std::string(name(slot.is)) + (slot.bias ? ".bias" : "") + shape_text(slot) + ':' + std::string(info(c.formats[i.weight[w]]).name);
        }
        s += line + '\n';
      }
  });
  return s + '\n' + describe_memory<P>(k, kv);
}

}  // namespace cke
