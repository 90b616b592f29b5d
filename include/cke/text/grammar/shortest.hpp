// SPDX-License-Identifier: MIT
// shortest.hpp: computes how many bytes a text of a grammar still needs, from any symbol.
#pragma once

#include <queue>

#include "rules.hpp"

CKE_COLD_BEGIN
namespace cke::text {

inline constexpr u32 endless = ~u32{0} - 1;  // no completion, or a longer one than can be counted

inline u32 longer(u32 bytes, u32 more) { return more < endless - bytes ? bytes + more : endless; }

// By symbol: the fewest bytes from there to the end of its production. A rule needs as many as its shortest production;
// rules are settled in order of length (Knuth 1977).
inline std::vector<u32> shortest_rests(const grammar& g) {
  struct production {
    u32 of, missing, bytes;  // missing: its rules not yet settled; bytes: of the others
  };
  using reached = std::pair<u32, u32>;  // bytes, rule
  std::vector<production> all;
  std::vector<std::vector<u32>> users(g.productions.size());  // by rule: productions that contain it, per occurrence
  std::priority_queue<reached, std::vector<reached>, std::greater<>> next;
  for (u32 r = 0; r < g.productions.size(); ++r)
    for (const u32 begin : g.productions[r]) {
      production p{r, 0, 0};
      for (u32 at = begin; g.symbols[at].is != grammar_symbol::end; ++at)
        if (g.symbols[at].is == grammar_symbol::rule)
          ++p.missing, users[g.symbols[at].rule_id].push_back(static_cast<u32>(all.size()));
        else ++p.bytes;
      if (p.missing == 0) next.emplace(p.bytes, r);
      all.push_back(p);
    }
  std::vector<u32> of_rule(g.productions.size(), endless);
  std::vector<bool> known(g.productions.size());
  while (!next.empty()) {
    const auto [bytes, r] = next.top();
    next.pop();
    if (known[r]) continue;
    known[r] = true, of_rule[r] = bytes;
    for (const u32 p : users[r]) {
      all[p].bytes = longer(all[p].bytes, bytes);
      if (--all[p].missing == 0) next.emplace(all[p].bytes, all[p].of);
    }
  }
  std::vector<u32> rests(g.symbols.size());
  for (std::size_t at = g.symbols.size(); at-- > 0;) {
    const grammar_symbol& s = g.symbols[at];
    if (s.is != grammar_symbol::end)
      rests[at] = longer(rests[at + 1], s.is == grammar_symbol::rule ? of_rule[s.rule_id] : 1);
  }
  return rests;
}

}  // namespace cke::text
CKE_COLD_END
