// SPDX-License-Identifier: MIT
// loaded-inl.hpp: how the model of loaded.hpp is loaded.
#pragma once

#include "loaded.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

namespace detail {

inline u32 threads_of(const compiled_program& m, const model_options& o) {
  o.validate(m.program->layers);
  if (o.ranks.count > 1 && !m.has_unit)
    throw Error(errc::unsupported, {}, "ranks", "1, or a model compiled for ranks", concat({o.ranks.count}));
  return o.threads ? o.threads : default_threads();
}

inline std::vector<kv_place> places_of(const compiled_program& m) {
  std::vector<kv_place> all;
  for_each_place(*m.program, m.cache().type, m.isa().transient_apart, m.cache().block_bytes,
                 [&](const kv_place& at) { all.push_back(at); });
  return all;
}

}  // namespace detail

CKE_ONCE loaded_program::loaded_program(const compiled_program& m, const tensor_source& tensors, std::string_view file,
                                        naming as, std::span<const name_rule> names, const model_options& o)
    : compiled(m),
      threads(detail::threads_of(m, o), o.hints),
      packed(m.packed(), tensors, file, as, names, threads, o.progress, o.huge_pages(),
             {m.has_unit, m.program, o.ranks}),
      places_(detail::places_of(m)),
      states(facts_of_states(*m.program, m.cache().type, m.isa().transient_apart, places_)),
      executor(m.executor(m, states, packed, threads, o)),
      cache(states.plan, executor->limits(), o.cache_positions, executor->memory_of_pages(), o.huge_pages()),
      images(m.program->vocab(), m.program->image_width()) {}

CKE_ONCE loaded_program::loaded_program(const compiled_program& m, const packed_weights& from, std::string_view file,
                                        const model_options& o)
    : compiled(m),
      threads(detail::threads_of(m, o), o.hints),
      packed(m.packed(), from, file),
      places_(detail::places_of(m)),
      states(facts_of_states(*m.program, m.cache().type, m.isa().transient_apart, places_)),
      executor(m.executor(m, states, packed, threads, o)),
      cache(states.plan, executor->limits(), o.cache_positions, executor->memory_of_pages(), o.huge_pages()),
      images(m.program->vocab(), m.program->image_width()) {}

CKE_ONCE void loaded_program::watch(const tracer& t) {
  const std::lock_guard turn(busy);
  executor->watch(t);
}

}  // namespace cke::runtime
CKE_COLD_END
