// SPDX-License-Identifier: MIT
// export_tower.hpp: CKE_EXPORT_TOWER, which defines the functions of cke.h for one vision tower.
#pragma once

#include "door.hpp"
#include "graph/describe.hpp"
#include "runtime/loaded_tower.hpp"

CKE_COMPILED_ONCE
namespace cke::door {

template <class M, class Formats = BF16, dtype KV = default_kv<Formats>, class Isa = isa::native>
struct exported_tower {
  using program = graph::program<M, Formats>;
  using loaded = runtime::loaded_tower<program, KV, Isa>;

  static loaded& of(cke_tower* t) { return *reinterpret_cast<loaded*>(t); }
  static const loaded& of(const cke_tower* t) { return *reinterpret_cast<const loaded*>(t); }

  static cke_tower* from_tensors(const cke_tensor* tensors, std::size_t count, int32_t names, const char* source,
                                 const cke_options* o, cke_error* e) noexcept {
    return pointer<cke_tower>(e, [&] {
      const tensor_index index = index_of(tensors, count, source, o);
      const model_options from = options_of(o);
      const naming as = names == CKE_NAMES_GGUF ? naming::gguf : naming::hf;
      return new loaded(index, source, as, names_of<M>(), {.threads = from.threads, .progress = from.progress});
    });
  }
  static cke_tower_facts facts(const cke_tower* t) noexcept {
    const loaded& l = of(t);
    return {loaded::width,       program::patch_width, program::merge_side,  l.threads(),
            program::parameters, l.weight_bytes(),     l.activation_bytes(), Isa::name.data()};
  }
  static int32_t plan_json(u32 patches, void (*write)(void*, const char*, std::size_t), void* user,
                           cke_error* e) noexcept {
    return status(e, [&] {
      const tower_options options{.patches = patches};
      options.validate();
      const std::string text = describe_json(program::data, loaded::capacity_for(std::max(patches, 1u)), KV);
      write(user, text.data(), text.size());
    });
  }
  static u32 rows(u32 height, u32 width, cke_error* e) noexcept {
    return guarded(e, [&] { return loaded::rows_of({height, width}); }, [](int32_t) { return 0u; });
  }
  static int32_t encode(cke_tower* t, const cke_patches* p, float* features, std::size_t count, cke_error* e) noexcept {
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
};

}  // namespace cke::door

// CKE_EXPORT_TOWER(Tower, Formats) or (Tower, Formats, KV), once in a translation unit.
#define CKE_EXPORT_TOWER(...)                                                                                \
  using cke_exported_tower = ::cke::door::exported_tower<__VA_ARGS__>;                                       \
  uint32_t cke_abi_version(void) noexcept { return CKE_ABI_VERSION; }                                        \
  cke_tower* cke_tower_from_tensors(const cke_tensor* t, size_t n, int32_t names, const char* source,        \
                                    const cke_options* o, cke_error* e) noexcept {                           \
    return cke_exported_tower::from_tensors(t, n, names, source, o, e);                                      \
  }                                                                                                          \
  void cke_tower_free(cke_tower* t) noexcept { delete &cke_exported_tower::of(t); }                          \
  cke_tower_facts cke_tower_facts_of(const cke_tower* t) noexcept { return cke_exported_tower::facts(t); }   \
  int32_t cke_tower_plan_json(uint32_t patches, void (*write)(void*, const char*, size_t), void* user,       \
                              cke_error* e) noexcept {                                                       \
    return cke_exported_tower::plan_json(patches, write, user, e);                                           \
  }                                                                                                          \
  uint32_t cke_tower_rows(const cke_tower*, uint32_t height, uint32_t width, cke_error* e) noexcept {        \
    return cke_exported_tower::rows(height, width, e);                                                       \
  }                                                                                                          \
  int32_t cke_tower_encode(cke_tower* t, const cke_patches* p, float* to, size_t n, cke_error* e) noexcept { \
    return cke_exported_tower::encode(t, p, to, n, e);                                                       \
  }                                                                                                          \
  static_assert(true, "so that a semicolon may follow")
