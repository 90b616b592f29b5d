// SPDX-License-Identifier: MIT
// describe-inl.hpp: how describe.hpp writes.
#pragma once

#include "describe.hpp"
#include "describe_code.hpp"

CKE_COLD_BEGIN
namespace cke::graph {

namespace detail {

inline std::string pattern_text(const fusion& f) {
  std::string s;
  for (u32 i = 0; i < f.pattern.count; ++i) s += (i ? " + " : "") + std::string(name(f.pattern[i]));
  return s;
}

}  // namespace detail

CKE_ONCE std::string describe_json(const program_data& p, capacity k, dtype kv) {
  using namespace detail;
  json_writer j;
  const auto memory = p.activations(k);
  const page_plan pages = p.page(kv);
  const u64 state_bytes = pages.bytes(k), weight_bytes = p.weight_bytes();

  j.object("", [&] {
    j.put("cke_program", 1);
    if (!p.family.name.empty()) j.put("family", p.family.name);
    j.put("parameters", p.parameters()), j.put("weight_bytes", weight_bytes);
    j.put("vocab", p.vocab()), j.put("dim", p.dim), j.put("layers", p.layers), j.put("tied", p.tied());
    j.object("formats", [&] {
      for (const role_name& r : role_names) {
        u32 tensors[std::size(dtypes)]{}, all = 0;
        p.for_each_weight([&](const weight& w) {
          if (w.slot.is == r.is) ++tensors[&info(w.as) - dtypes], ++all;
        });
        if (all == 0) continue;
        j.object(r.name, [&] {
          for (const dtype_info& t : dtypes)
            if (tensors[&t - dtypes]) j.put(t.name, tensors[&t - dtypes]);
        });
      }
    });
    j.put("kinds", p.kind_count);
    j.array("variants", [&] {
      for (u32 v = 0; v < p.body_count; ++v) j.object("", [&] { j.put("kind", u32{p.variants[v].kind}); });
    });
    j.object("row_end", [&] {
      const auto end = p.row_end();
      const code& c = p.body_of(end.layer);
      const schedule s = phases_of(c, form::prefill);
      j.put("layer", end.layer);
      j.put("instruction", end.phase < s.phases.size() ? u32{s.phases[end.phase].first} : c.ops.size());
    });
    j.array("variant_of_layer", [&] {
      for (u32 l = 0; l < p.layers; ++l) j.put("", u32{p.variant_of[l]});
    });
    j.object("fusion", [&] {
      if (!p.fused) return j.put("disabled", true);
      const fusion_stats& s = p.fusion;
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
      j.put("all", p.count());
      for (const op_info& row : ops)
        if (const u32 n = p.count(row.op)) j.put(row.name, n);
    });
    j.object("barriers", [&] {
      for (const form f : {form::decode, form::prefill}) j.put(word(f), p.barriers(f));
    });
    j.array("codes",
            [&] { each_code(p, k, [&](const auto&... of_code) { put_code(j, p.family.names, of_code...); }); });
    j.object("capacity", [&] {
      j.put("context", k.context), j.put("chunk", k.chunk), j.put("logit_rows", k.logit_rows),
          j.put("kv", info(kv).name);
    });
    j.object("memory", [&] {
      j.put("weights", weight_bytes), j.put("states", state_bytes), j.put("stream", memory.stream);
      j.put("ids", memory.ids), j.put("layer_inputs", memory.layer_inputs), j.put("scratch", memory.scratch),
          j.put("per_thread", memory.per_thread);
      j.put("activations", memory.total), j.put("total", weight_bytes + state_bytes + memory.total);
    });
    j.object("states", [&] {
      u32 count = 0;
      state_descriptor first{};
      p.for_each_state(kv, [&](const state_descriptor& d) {
        if (count++ == 0) first = d;
      });
      j.put("count", count), j.put("bytes", state_bytes), j.put("recurrent", pages.recurrent);
      j.put("block_bytes", pages.persistent.caches + pages.transient.caches),
          j.put("page_positions", pages.positions());
      const auto put_part = [&](const char* part, const page_part& has, u32 most) {
        j.object(part, [&] { j.put("page_bytes", pages.bytes(has)), j.put("pages", most); });
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
CKE_COLD_END
