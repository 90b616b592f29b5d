// SPDX-License-Identifier: MIT
// by_tables.hpp: the usual way to run a program: an executor walks over tables of its steps.
#pragma once

#include "compiled_program.hpp"

namespace cke::runtime {

// An executor for one rank (executor.hpp). Throws out_of_memory.
std::unique_ptr<pass_executor> make_executor(const compiled_program& m, const state_facts& states, const weights& w,
                                             team& threads, const model_options& o);

// The executor that walks over tables of steps on an isa.
template <class Isa> struct walk_of {
  template <class P, dtype KV> static constexpr auto make = &make_executor;
};
// How passes run: over tables of steps. The other way is `unrolled` of unrolled_executor.hpp.
struct by_tables {
  template <class P, dtype KV, class Isa> static constexpr auto executor = walk_of<Isa>::template make<P, KV>;
};

}  // namespace cke::runtime
