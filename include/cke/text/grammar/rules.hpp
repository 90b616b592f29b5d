// SPDX-License-Identifier: MIT
// rules.hpp: a context-free grammar over bytes as plain data, and checks that an automaton can follow it.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "../../core/concat.hpp"
#include "../../core/error.hpp"

CKE_COLD_BEGIN
namespace cke::text {

struct grammar_symbol {
  enum kind : u8 { bytes, rule, end };
  kind is = end;
  u8 first = 0, last = 0;  // a range of bytes
  u32 rule_id = 0;
  bool operator==(const grammar_symbol&) const = default;
};

// Over bytes, so that a token may end inside a character.
struct grammar {
  std::vector<grammar_symbol> symbols;        // of all productions; each ends with an `end`
  std::vector<std::vector<u32>> productions;  // by rule: indices in `symbols` where its productions start
  std::vector<std::string> names;             // by rule; generated rules have the name of the rule that contains them
  u32 root = 0;

  static constexpr std::size_t max_symbols = 1 << 18;
};

namespace detail {

// Which rules derive a text, or, with `empty`, the empty text.
inline std::vector<bool> rules_with_text(const grammar& g, bool empty) {
  struct production {
    u32 of, missing;  // its rules that are not yet known to have one
  };
  std::vector<bool> found(g.productions.size());
  std::vector<production> all;
  std::vector<std::vector<u32>> users(g.productions.size());  // by rule: productions that contain it, per occurrence
  std::vector<u32> news;
  for (u32 r = 0; r < g.productions.size(); ++r)
    for (const u32 begin : g.productions[r]) {
      const auto id = static_cast<u32>(all.size());
      production p{r, 0};
      bool bytes = false;
      for (u32 at = begin; g.symbols[at].is != grammar_symbol::end; ++at)
        if (g.symbols[at].is == grammar_symbol::rule) ++p.missing, users[g.symbols[at].rule_id].push_back(id);
        else bytes = true;
      if (bytes && empty) p.missing = ~u32{0};  // never
      if (p.missing == 0) news.push_back(r);
      all.push_back(p);
    }
  while (!news.empty()) {
    const u32 r = news.back();
    news.pop_back();
    if (found[r]) continue;
    found[r] = true;
    for (const u32 p : users[r])
      if (--all[p].missing == 0) news.push_back(all[p].of);
  }
  return found;
}

// An edge from a rule to one that its text can start with. `grows` if something may follow that one.
struct left_edge {
  u32 to;
  bool grows;
};

inline std::vector<std::vector<left_edge>> left_edges(const grammar& g) {
  const std::vector<bool> nullable = rules_with_text(g, true);
  std::vector<std::vector<left_edge>> edges(g.productions.size());
  for (u32 r = 0; r < g.productions.size(); ++r)
    for (u32 at : g.productions[r])
      for (; g.symbols[at].is == grammar_symbol::rule; ++at) {
        const u32 to = g.symbols[at].rule_id;
        edges[r].push_back({to, g.symbols[at + 1].is != grammar_symbol::end});
        if (!nullable[to]) break;
      }
  return edges;
}

// By rule: equal numbers for rules that can start with each other. Tarjan's algorithm (1972), without recursion.
inline std::vector<u32> left_components(const std::vector<std::vector<left_edge>>& edges) {
  constexpr u32 none = ~u32{0};
  struct visit {
    u32 rule, next_edge;
  };
  std::vector<u32> component(edges.size(), none), order(edges.size(), none), low(edges.size()), open;
  std::vector<visit> path;
  u32 seen = 0;
  const auto enter = [&](u32 r) {
    order[r] = low[r] = seen++;
    open.push_back(r), path.push_back({r, 0});
  };
  for (u32 root = 0; root < edges.size(); ++root) {
    if (order[root] != none) continue;
    enter(root);
    while (!path.empty()) {
      const u32 r = path.back().rule;
      if (path.back().next_edge < edges[r].size()) {
        const u32 to = edges[r][path.back().next_edge++].to;
        if (order[to] == none) enter(to);
        else if (component[to] == none) low[r] = std::min(low[r], order[to]);
        continue;
      }
      path.pop_back();
      if (!path.empty()) low[path.back().rule] = std::min(low[path.back().rule], low[r]);
      if (low[r] != order[r]) continue;
      for (u32 member = none; member != r; open.pop_back()) component[member = open.back()] = r;
    }
  }
  return component;
}

}  // namespace detail

// A rule that reaches itself before it reads a byte, with something to follow, needs an endless stack. Throws
// Error{unsupported} naming it.
inline void refuse_left_recursion(const grammar& g, const std::string& file) {
  const auto edges = detail::left_edges(g);
  const auto component = detail::left_components(edges);
  for (u32 r = 0; r < edges.size(); ++r)
    for (const auto [to, grows] : edges[r])
      if (grows && component[r] == component[to])
        throw Error(errc::unsupported, file, concat({"rule '", g.names[r], "'"}),
                    "no left recursion (x ::= x \"a\" | \"b\" is x ::= \"b\" \"a\"*)", "that it can begin with itself");
}

// Removes productions that derive no text, so that every prefix can be completed. Throws malformed if the root has
// none.
inline void drop_dead_ends(grammar& g, const std::string& file) {
  const std::vector<bool> has_text = detail::rules_with_text(g, false);
  if (!has_text[g.root])
    throw Error(errc::malformed, file, concat({"rule '", g.names[g.root], "'"}), "a text that fits it", "none");
  for (auto& productions : g.productions)
    std::erase_if(productions, [&](u32 at) {
      for (; g.symbols[at].is != grammar_symbol::end; ++at)
        if (g.symbols[at].is == grammar_symbol::rule && !has_text[g.symbols[at].rule_id]) return true;
      return false;
    });
}

}  // namespace cke::text
CKE_COLD_END
