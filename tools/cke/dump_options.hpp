// SPDX-License-Identifier: MIT
// dump_options.hpp: the options of cke dump, cke compare and cke bisect.
#pragma once

#include "commands.hpp"
#include "options.hpp"

namespace cke::tool {

inline void stepping_options_of(CLI::App& app, model_args& to, bool& fused) {
  model_options_of(app, to, checkpoint_help);
  app.add_option("-t,--threads", to.threads, thread_help)->check(number(0u, team::max_threads));
  app.add_option("-c,--context", to.context, "positions that rope's rules go by (the number of ids)")
      ->check(number(1u, 1u << 24));
  app.add_flag("--fused", fused, "the steps as cke run executes them, fused (without fusion, which has the same bits)");
}
inline void tolerance_option_of(CLI::App& app, double& to) {
  app.add_option("--tolerance", to, "a number x is wrong where |x - y| > X (1 + |y|), for y of the reference")
      ->type_name("X")
      ->check(number(0.0, 1e6))
      ->capture_default_str();
}

inline void dump_options_of(CLI::App& app, dump_args& to) {
  to.model.chunk = 0;
  stepping_options_of(app, to.model, to.fused);
  auto* ids = app.add_option("--tokens", to.tokens, "ids, between commas");
  app.add_option("-p,--prompt", to.prompt, "a text, instead of ids")->excludes(ids);
  app.add_option("--chunk", to.model.chunk, "most tokens of one pass (all)")->check(number(1u, 1u << 16));
  app.add_option("--ops", to.ops, "only what has a name, or is of an operation, that GLOB matches: 'rope.*'")
      ->type_name("GLOB")
      ->check(some_text("a pattern"));
  app.add_option("--layers", to.layers, "only of these layers: 0-2,5")->type_name("RANGE");
  app.add_option("--stop-at", to.stop_at, "run no step after the one that writes OP: attend, or 2.attend")
      ->type_name("OP");
  app.add_option("-o,--output", to.output, "a directory that is not there yet")->type_name("DIR");
  app.add_flag("--ckdmp", to.ckdmp, "one CKDMP file, instead of a .npy file for each value");
  app.add_flag("--counters", to.counters, "print how often each operation ran, and what it took");
  auto* list = app.add_flag("--list", to.list, "print the names of all values, and run nothing");
  app.add_flag("--json", to.json, "the list as one JSON object, with registers and weights")->needs(list);
}
inline void compare_options_of(CLI::App& app, compare_args& to) {
  app.add_option("A", to.a, "a directory that cke dump wrote")->required();
  app.add_option("B", to.b, "another one, of the same ids: the reference")->required();
  tolerance_option_of(app, to.tolerance);
}
inline void bisect_options_of(CLI::App& app, bisect_args& to) {
  to.model.chunk = 0;
  stepping_options_of(app, to.model, to.fused);
  app.add_option("--reference", to.reference, "a dump of another implementation, or of this one: its ids are fed")
      ->type_name("DIR")
      ->required();
  tolerance_option_of(app, to.tolerance);
}

}  // namespace cke::tool
