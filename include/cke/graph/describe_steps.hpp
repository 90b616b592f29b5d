// SPDX-License-Identifier: MIT
// describe_steps.hpp: the codes that the step-by-step executor walks, as JSON.
#pragma once

#include <string>

#include "describe_code.hpp"

CKE_COLD_BEGIN
namespace cke::graph {

// The code that is walked, of one that is executed. An unfused one is the contract's, whose adds carry the stream.
inline code walked_code(const program_data& p, const code& executed) {
  return p.fused ? executed : contract(executed).steps;
}

// Codes are in the order of the walk: header, bodies, footer.
inline std::string describe_steps(const program_data& p, capacity k) {
  using namespace detail;
  json_writer j;
  j.object("", [&] {
    j.put("cke_steps", 1);
    if (!p.family.name.empty()) j.put("family", p.family.name);
    j.put("fused", p.fused), j.put("vocab", p.vocab()), j.put("layers", p.layers);
    j.array("code_of_layer", [&] {
      for (u32 l = 0; l < p.layers; ++l) j.put("", u32{p.variant_of[l]} + 1);
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
      each_code(p, k, [&](const std::string& title, place where, const code& c, const code& unfused, auto... rest) {
        put_code(j, p.family.names, title, where, walked_code(p, c), unfused, rest...);
      });
    });
  });
  j.text += '\n';
  return j.text;
}

}  // namespace cke::graph
CKE_COLD_END
