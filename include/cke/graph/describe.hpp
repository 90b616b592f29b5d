// SPDX-License-Identifier: MIT
// describe.hpp: a program, its schedule and its memory as JSON.
#pragma once

#include <string>

#include "describe_code.hpp"
#include "program.hpp"

namespace cke::graph {

namespace detail {

// Calls f(name, place, kind, code, unfused code, first layer, layers, rows of a pass) for each distinct code.
template <class P, class F> void each_code(capacity k, F f) {
  f(std::string("header"), place::header, P::header_code(), P::unfused_header(), 0u, 1u, k.chunk);
  for (u32 v = 0; v < P::body_count; ++v) {
    u32 first = P::layers, n = 0;
    for (u32 l = P::layers; l-- > 0;)
      if (P::variants.of[l] == v) first = l, ++n;
    f("body " + std::to_string(v), place::body, *P::bodies[v], P::unfused[P::variants.list[v].kind], first, n, k.chunk);
  }
  f(std::string("footer"), place::footer, P::footer_code(), P::unfused_footer(), 0u, 1u, k.logit_rows);
}

// How often each rule is applied, summed over all layers.
template <class P> constexpr fusion_stats fusion_of() {
  fusion_stats all{};
  auto add = [&](const fusion_stats& s, u32 times) {
    all.total += s.total * times, all.removed += s.removed * times, all.saves_elided += s.saves_elided * times;
    for (u32 i = 0; i < std::size(fusions); ++i) all.applied[i] += s.applied[i] * times;
  };
  [&]<std::size_t... V>(std::index_sequence<V...>) {
    constexpr auto layers_of = [](std::size_t v) {
      u32 n = 0;
      for (const u8 of : P::variants.of) n += of == v;
      return n;
    };
    (add(fused_block<at<P::variants.list[V].kind, typename P::kinds>, P::variants.list[V].formats>.stats, layers_of(V)),
     ...);
  }(std::make_index_sequence<P::body_count>{});
  add(fused_block<typename P::footer, P::footer_formats>.stats, 1);
  return all;
}

inline std::string pattern_text(const fusion& f) {
  std::string s;
  for (u32 i = 0; i < f.pattern.count; ++i) s += (i ? " + " : "") + std::string(name(f.pattern[i]));
  return s;
}

}  // namespace detail

// Everything about a program P = program<Model, Formats, Fused>, planned for capacity k and caches of type kv, as one
// JSON object. Equal programs give equal bytes.
template <class P> std::string describe_json(capacity k, dtype kv) {
  using namespace detail;
  using M = typename P::model_list;
  json_writer j;
  const auto memory = P::activations(k);
  const page_plan pages = P::page(kv);
  const u64 state_bytes = pages.bytes(k);

  j.object("", [&] {
    j.put("cke_program", 1);
    if constexpr (requires { M::family::name; }) j.put("family", M::family::name);
    j.put("parameters", P::parameters), j.put("weight_bytes", P::weight_bytes);
    j.put("vocab", P::vocab), j.put("dim", P::dim), j.put("layers", P::layers), j.put("tied", P::tied);
    j.object("formats", [&] {
      for (const role_name& r : role_names) {
        u32 tensors[std::size(dtypes)]{}, all = 0;
        P::for_each_weight([&](const weight& w) {
          if (w.slot.is == r.is) ++tensors[&info(w.as) - dtypes], ++all;
        });
        if (all == 0) continue;
        j.object(r.name, [&] {
          for (const dtype_info& t : dtypes)
            if (tensors[&t - dtypes]) j.put(t.name, tensors[&t - dtypes]);
        });
      }
    });
    j.put("kinds", u32{length<typename P::kinds>});
    j.array("variants", [&] {
      for (const variant& v : P::variants.list) j.object("", [&] { j.put("kind", u32{v.kind}); });
    });
    j.object("row_end", [&] {
      const code& c = *P::bodies[P::variants.of[P::row_end.layer]];
      const schedule s = phases_of(c, form::prefill);
      j.put("layer", P::row_end.layer);
      j.put("instruction", P::row_end.phase < s.phases.size() ? u32{s.phases[P::row_end.phase].first} : c.ops.size());
    });
    j.array("variant_of_layer", [&] {
      for (const u8 v : P::variants.of) j.put("", u32{v});
    });
    j.object("fusion", [&] {
      if (!P::fused) return j.put("disabled", true);
      const fusion_stats s = fusion_of<P>();
      j.put("total", s.total), j.put("removed", s.removed), j.put("saves_elided", s.saves_elided);
      j.array("applied", [&] {
        for (u32 i = 0; i < std::size(fusions); ++i)
          j.object("", [&] {
            j.put("pattern", pattern_text(fusions[i])), j.put("becomes", name(fusions[i].becomes));
            j.put("times", s.applied[i]);
          });
      });
    });
    j.object("steps", [&] {
      j.put("all", P::count());
      for (const op_info& row : ops)
        if (const u32 n = P::count(row.op)) j.put(row.name, n);
    });
    j.object("barriers", [&] {
      for (const form f : {form::decode, form::prefill}) j.put(word(f), P::barriers(f));
    });
    j.array("codes", [&] { each_code<P>(k, [&](const auto&... of_code) { put_code<M>(j, of_code...); }); });
    j.object("capacity", [&] {
      j.put("context", k.context), j.put("chunk", k.chunk), j.put("logit_rows", k.logit_rows),
          j.put("kv", info(kv).name);
    });
    j.object("memory", [&] {
      j.put("weights", P::weight_bytes), j.put("states", state_bytes), j.put("stream", memory.stream);
      j.put("ids", memory.ids), j.put("layer_inputs", memory.layer_inputs), j.put("scratch", memory.scratch),
          j.put("per_thread", memory.per_thread);
      j.put("activations", memory.total), j.put("total", P::weight_bytes + state_bytes + memory.total);
    });
    j.object("states", [&] {
      u32 count = 0;
      state_descriptor first{};
      P::for_each_state(kv, [&](const state_descriptor& d) {
        if (count++ == 0) first = d;
      });
      j.put("count", count), j.put("bytes", state_bytes), j.put("recurrent", P::recurrent);
      j.put("block_bytes", pages.persistent.caches + pages.transient.caches),
          j.put("page_positions", pages.positions());
      const auto put_part = [&](const char* part, const page_part& p, u32 most) {
        j.object(part, [&] { j.put("page_bytes", pages.bytes(p)), j.put("pages", most); });
      };
      put_part("persistent", pages.persistent, pages.pages(k.context)),
          put_part("transient", pages.transient, pages.kept(k));
      if (count == 0) return;
      j.object("first", [&] {
        j.put("id", first.id), j.put("lifecycle", word(first.life)), j.put("layer", first.layer),
            j.put("heads", first.heads);
        j.put("head_dim", first.head_dim), j.put("transient", first.transient), j.put("offset", first.offset);
        j.put("bytes", first.bytes), j.put("align", u32{first.align}), j.put("zero_init", first.zero_init);
      });
    });
  });
  j.text += '\n';
  return j.text;
}

}  // namespace cke::graph
