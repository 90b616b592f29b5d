// SPDX-License-Identifier: MIT
// describe_steps.hpp: the codes that the step-by-step executor walks, as JSON.
#pragma once

#include <string>

#include "describe.hpp"

namespace cke::graph {

// The code that is walked, of one that is executed. An unfused one is the contract's, whose adds carry the stream.
template <class P> code walked_code(const code& executed) { return P::fused ? executed : contract(executed).steps; }

// Codes are in the order of the walk: header, bodies, footer.
template <class P> std::string describe_steps(capacity k) {
  using namespace detail;
  using M = typename P::model_list;
  json_writer j;
  j.object("", [&] {
    j.put("cke_steps", 1);
    if constexpr (requires { M::family::name; }) j.put("family", M::family::name);
    j.put("fused", P::fused), j.put("vocab", P::vocab), j.put("layers", P::layers);
    j.array("code_of_layer", [&] {
      for (const u8 v : P::variants.of) j.put("", u32{v} + 1);
    });
    j.array("fusions", [&] {
      for (const fusion& f : fusions)
        j.object("", [&] {
          j.put("becomes", name(f.becomes));
          j.array("parts", [&] {
            for (u32 i = 0; i < f.pattern.count; ++i) j.put("", name(f.pattern[i]));
          });
        });
    });
    j.array("codes", [&] {
      each_code<P>(k, [&](const std::string& title, place where, const code& c, const code& unfused, auto... rest) {
        put_code<M>(j, title, where, walked_code<P>(c), unfused, rest...);
      });
    });
  });
  j.text += '\n';
  return j.text;
}

}  // namespace cke::graph
