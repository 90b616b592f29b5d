// SPDX-License-Identifier: MIT
// describe_ranks.hpp: a program over several ranks as JSON: weights of each, and what they exchange for a token.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "describe_code.hpp"
#include "exchanges.hpp"

CKE_COLD_BEGIN
namespace cke::graph {

namespace detail {

inline u32 slot_of(const code& c, const weight_slot& s) {
  u32 at = 0;
  while (at + 1 < c.slots.size() && !(c.slots[at].is == s.is && c.slots[at].bias == s.bias && c.slots[at].nth == s.nth))
    ++at;
  return at;
}

// Bytes of an output that a rank sends for one token: of a table's row, what the rank that has it sends.
inline u64 sent_bytes(const code& c, u32 at, u32 output, share_of_rank who, u32 bf16_bytes) {
  const instruction& i = c.ops[at];
  const value& v = c.regs[i.out[output]];
  const auto of = [&](u32 columns) -> u64 {
    return v.as == dtype::q8_0 ? ceil_div(columns, 32) * 48 : v.as == dtype::bf16 ? columns * bf16_bytes : columns * 4;
  };
  if (cut_of(c, at).by == rank_cut::ids) return of(v.width);
  u64 bytes = 0;
  for_own_columns(c, at, output, who, [&](u32, u32 count) { bytes += of(count) * v.rows; });
  return bytes;
}

}  // namespace detail

// For ranks > 0. Exchanges are those of a decode pass with logits; `bytes` has a number for each rank. bf16_bytes: of a
// number in a bf16 register, which some isas keep as a float.
inline std::string describe_ranks_json(const program_data& p, u32 ranks, u32 bf16_bytes) {
  json_writer j;
  std::vector<u64> weights(ranks), sent(ranks);
  p.for_each_weight([&](const weight& w) {
    const code& c = p.code_of(w);
    const u32 units = packed_units(w.slot), slot = detail::slot_of(c, w.slot);
    for (u32 r = 0; r < ranks; ++r) {
      const own_rows own = own_rows_of(c, slot, {r, ranks});
      const u32 has = w.slot.quantisable ? units / own.period * (own.last - own.first) : units;
      weights[r] += w.bytes * has / units;
    }
  });
  const auto array = [&](const char* key, const std::vector<u64>& of) {
    j.array(key, [&] {
      for (const u64 n : of) j.put("", n);
    });
  };
  u32 exchanges = 0;
  j.object("", [&] {
    j.put("ranks", ranks);
    array("weight_bytes", weights);
    j.array("codes", [&] {
      detail::each_code(p, {1, 1, 1},
                        [&](const std::string& name, place, const code& c, const code&, u32 first, u32 layers, u32) {
                          const exchange_table what = exchanges_of(c);
                          j.object("", [&] {
                            j.put("name", name), j.put("first_layer", first), j.put("layers", layers);
                            j.array("exchanges", [&] {
                              for_each_run(c, phases_of(c, form::decode), [&](u32 from, u32 to) {
                                if (!what.any(from, to)) return;
                                std::vector<u64> bytes(ranks);
                                j.object("", [&] {
                                  j.array("of", [&] {
                                    for (u32 i = from; i < to; ++i) {
                                      if (what.outputs[i]) j.put("", cke::name(c.ops[i].op));
                                      for (u32 o = 0; o < c.ops[i].out.count; ++o)
                                        for (u32 r = 0; r < ranks && what.outputs[i] >> o & 1; ++r)
                                          bytes[r] += detail::sent_bytes(c, i, o, {r, ranks}, bf16_bytes);
                                    }
                                  });
                                  array("bytes", bytes);
                                });
                                exchanges += layers;
                                for (u32 r = 0; r < ranks; ++r) sent[r] += bytes[r] * layers;
                              });
                            });
                          });
                        });
    });
    j.put("exchanges", exchanges);
    array("sent_bytes", sent);
  });
  return j.text;
}

}  // namespace cke::graph
CKE_COLD_END
