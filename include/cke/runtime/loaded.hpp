// SPDX-License-Identifier: MIT
// loaded.hpp: a model with its weights in memory, and what its sequences share.
#pragma once

#include "../core/mutex.hpp"
#include "by_tables.hpp"
#include "compile_program.hpp"
#include "default_kv.hpp"
#include "executor.hpp"
#include "image_store.hpp"
#include "state_layout.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// Immutable, except for the pages and the activations. One pass runs at a time.
class loaded_program {
 public:
  const compiled_program& compiled;
  team threads;
  weights packed;

 private:
  std::vector<kv_place> places_;  // that `states` refers to

 public:
  const state_facts states;
  const std::unique_ptr<pass_executor> executor;
  page_pools cache;
  image_store images;  // that sequences see, where the program has rows of images
  mutex busy;

  // Throws config_range for the options, and what weights throws.
  loaded_program(const compiled_program& m, const tensor_source& tensors, std::string_view file, naming as,
                 std::span<const name_rule> names, const model_options& o);
  // Over packed weights that the caller keeps longer than this. Throws config_range, and what weights throws.
  loaded_program(const compiled_program& m, const packed_weights& from, std::string_view file, const model_options& o);

  u32 context() const { return executor->limits().context; }
  void watch(const tracer& t);
  u64 state_bytes() const { return states.plan.bytes(executor->limits()); }  // of a sequence at most
};

// The same for a program whose type is in sight.
template <class P, dtype KV, class Isa, class How = by_tables> struct loaded : loaded_program {
  using program = P;
  using isa = Isa;
  using layout = state_layout<P, KV, Isa>;  // of its sequences' states
  static constexpr dtype kv = KV;

  loaded(const tensor_source& tensors, std::string_view file, naming as, std::span<const name_rule> names,
         const model_options& o)
      : loaded_program(compiled_program_of<P, KV, Isa, How>, tensors, file, as, names, o) {}
  loaded(const packed_weights& from, std::string_view file, const model_options& o)
      : loaded_program(compiled_program_of<P, KV, Isa, How>, from, file, o) {}
};

}  // namespace cke::runtime
CKE_COLD_END

#ifndef CKE_COMPILED
#include "loaded-inl.hpp"
#endif
