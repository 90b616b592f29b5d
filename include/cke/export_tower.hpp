// SPDX-License-Identifier: MIT
// export_tower.hpp: CKE_EXPORT_TOWER, which defines the functions of cke.h for one vision tower.
#pragma once

#include "cke.h"
#include "model_type.hpp"
#include "runtime/by_tables.hpp"
#include "runtime/compile_program.hpp"
#include "runtime/default_kv.hpp"

namespace cke::door {

// The functions of cke.h for towers, without "cke_".
cke_tower* tower_from_tensors(const model_type& m, const cke_tensor* tensors, std::size_t count, int32_t names,
                              const char* source, const cke_options* o, cke_error* e) noexcept;
void tower_free(cke_tower* t) noexcept;
cke_tower_facts tower_facts(const cke_tower* t) noexcept;
int32_t tower_plan_json(const model_type& m, u32 patches, void (*write)(void*, const char*, std::size_t), void* user,
                        cke_error* e) noexcept;
u32 tower_rows(const model_type& m, u32 height, u32 width, cke_error* e) noexcept;
int32_t tower_encode(cke_tower* t, const cke_patches* p, float* features, std::size_t count, cke_error* e) noexcept;

template <class M, class Formats = graph::BF16, dtype KV = runtime::default_kv<Formats>, class Isa = isa::native>
struct exported_tower {
  using program = graph::program<M, Formats>;
  static_assert(program::is_tower, "cke: tower: the type is no tower; begin with tower<patch_embedding<...>, ...>");
  static constexpr model_type type{runtime::compiled_program_of<program, KV, Isa, runtime::by_tables>, names_of<M>()};
};

}  // namespace cke::door

#ifndef CKE_COMPILED
#include "export_tower-inl.hpp"
#endif

// CKE_EXPORT_TOWER(Tower, Formats) or (Tower, Formats, KV), once in a translation unit.
#define CKE_EXPORT_TOWER(...)                                                                                \
  using cke_exported_tower = ::cke::door::exported_tower<__VA_ARGS__>;                                       \
  uint32_t cke_abi_version(void) noexcept { return CKE_ABI_VERSION; }                                        \
  cke_tower* cke_tower_from_tensors(const cke_tensor* t, size_t n, int32_t names, const char* source,        \
                                    const cke_options* o, cke_error* e) noexcept {                           \
    return ::cke::door::tower_from_tensors(cke_exported_tower::type, t, n, names, source, o, e);             \
  }                                                                                                          \
  void cke_tower_free(cke_tower* t) noexcept { ::cke::door::tower_free(t); }                                 \
  cke_tower_facts cke_tower_facts_of(const cke_tower* t) noexcept { return ::cke::door::tower_facts(t); }    \
  int32_t cke_tower_plan_json(uint32_t patches, void (*write)(void*, const char*, size_t), void* user,       \
                              cke_error* e) noexcept {                                                       \
    return ::cke::door::tower_plan_json(cke_exported_tower::type, patches, write, user, e);                  \
  }                                                                                                          \
  uint32_t cke_tower_rows(const cke_tower*, uint32_t height, uint32_t width, cke_error* e) noexcept {        \
    return ::cke::door::tower_rows(cke_exported_tower::type, height, width, e);                              \
  }                                                                                                          \
  int32_t cke_tower_encode(cke_tower* t, const cke_patches* p, float* to, size_t n, cke_error* e) noexcept { \
    return ::cke::door::tower_encode(t, p, to, n, e);                                                        \
  }                                                                                                          \
  static_assert(true, "so that a semicolon may follow")
