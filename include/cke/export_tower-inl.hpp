// SPDX-License-Identifier: MIT
// export_tower-inl.hpp: the functions of cke.h for towers, which are the same for all of them.
#pragma once

#include <algorithm>

#include "door.hpp"
#include "export_tower.hpp"
#include "graph/describe.hpp"
#include "runtime/loaded_tower.hpp"

CKE_COLD_BEGIN
namespace cke::door {

inline runtime::loaded_tower& of(cke_tower* t) { return *reinterpret_cast<runtime::loaded_tower*>(t); }
inline const runtime::loaded_tower& of(const cke_tower* t) {
  return *reinterpret_cast<const runtime::loaded_tower*>(t);
}

CKE_ONCE cke_tower* tower_from_tensors(const model_type& m, const cke_tensor* tensors, std::size_t count, int32_t names,
                                       const char* source, const cke_options* o, cke_error* e) noexcept {
  return pointer<cke_tower>(e, [&] {
    const tensor_index index = index_of(tensors, count, source, o);
    const model_options from = options_of(o);
    const naming as = names == CKE_NAMES_GGUF ? naming::gguf : naming::hf;
    const runtime::tower_options options{.threads = from.threads, .progress = from.progress};
    return new runtime::loaded_tower(m.compiled, index, source, as, m.names, options);
  });
}
CKE_ONCE void tower_free(cke_tower* t) noexcept { delete &of(t); }
CKE_ONCE cke_tower_facts tower_facts(const cke_tower* t) noexcept {
  const runtime::loaded_tower& l = of(t);
  const graph::program_data& p = *l.compiled().program;
  return {runtime::feature_width(p),
          p.patch_width(),
          p.merge_side(),
          l.threads(),
          p.parameters(),
          l.weight_bytes(),
          l.activation_bytes(),
          l.compiled().isa().name.data()};
}
CKE_ONCE int32_t tower_plan_json(const model_type& m, u32 patches, void (*write)(void*, const char*, std::size_t),
                                 void* user, cke_error* e) noexcept {
  return status(e, [&] {
    const runtime::tower_options options{.patches = patches};
    options.validate();
    const capacity k = runtime::loaded_tower::capacity_for(std::max(patches, 1u));
    const std::string text = graph::describe_json(*m.compiled.program, k, m.compiled.cache().type);
    write(user, text.data(), text.size());
  });
}
CKE_ONCE u32 tower_rows(const model_type& m, u32 height, u32 width, cke_error* e) noexcept {
  return guarded(
      e, [&] { return runtime::loaded_tower::rows_of(*m.compiled.program, {height, width}); },
      [](int32_t) { return 0u; });
}
CKE_ONCE int32_t tower_encode(cke_tower* t, const cke_patches* p, float* features, std::size_t count,
                              cke_error* e) noexcept {
  return status(e, [&] {
    if (!p || !features) throw Error(errc::usage, {}, p ? "features" : "image", "a pointer", "null");
    of(t).encode({.grid = {p->grid_height, p->grid_width},
                  .rows = {p->rows, p->rows ? p->count : 0},
                  .raster = p->raster != 0,
                  .pixels = {p->pixels, p->pixels ? p->count : 0},
                  .channels = p->channels,
                  .height = p->height,
                  .width = p->width,
                  .side = p->side},
                 {features, count});
  });
}

}  // namespace cke::door
CKE_COLD_END
