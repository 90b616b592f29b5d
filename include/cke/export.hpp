// SPDX-License-Identifier: MIT
// export.hpp: CKE_EXPORT_MODEL, which defines the functions of cke.h for one model.
#pragma once

#include "cke.h"
#include "model_type.hpp"
#include "runtime/by_tables.hpp"
#include "runtime/compile_program.hpp"
#include "runtime/default_kv.hpp"
#ifndef CKE_READS_NO_FILES  // set for units of the cke command, which reads files itself
#include "config_check.hpp"
#include "door.hpp"
#include "io/checkpoint.hpp"
#include "runtime/loaded.hpp"
#endif

namespace cke::door {

// The functions of cke.h, without "cke_".
cke_model* model_from_tensors(const model_type& m, const cke_tensor* tensors, std::size_t count, int32_t names,
                              const char* source, const cke_options* o, cke_error* e) noexcept;
cke_packed_form form_of_packed(const model_type& m) noexcept;
int32_t model_packed(const cke_model* m, void (*take)(void*, const char*, const void*, u64), void* user,
                     cke_error* e) noexcept;
cke_model* model_from_packed(const model_type& m, const cke_packed* p, const char* source, const cke_options* o,
                             cke_error* e) noexcept;
void model_free(cke_model* m) noexcept;
cke_facts model_facts(const cke_model* m) noexcept;
int32_t model_plan_json(const model_type& m, const cke_options* o, void (*write)(void*, const char*, std::size_t),
                        void* user, cke_error* e) noexcept;
cke_image* image_add(const cke_model* m, const uint64_t* key, u32 rows, u32 columns, int64_t time,
                     const float* features, std::size_t count, cke_error* e) noexcept;
cke_image* image_find(const cke_model* m, const uint64_t* key, cke_error* e) noexcept;
void model_watch(const cke_model* m, cke_trace take, void* user) noexcept;
cke_session* session_create(const cke_model* m, cke_error* e) noexcept;
cke_session* session_fork(const cke_session* s, cke_error* e) noexcept;
void session_free(cke_session* s) noexcept;
int32_t session_feed(cke_session* s, const uint32_t* ids, std::size_t count, cke_error* e) noexcept;
int32_t session_feed_all(cke_session* s, const uint32_t* ids, std::size_t count,
                         void (*take)(void*, uint32_t, const float*), void* user, cke_error* e) noexcept;
int32_t sessions_feed(const cke_turn* turns, std::size_t count, cke_error* e) noexcept;
int32_t session_recall(cke_session* s, const uint32_t* ids, std::size_t count, uint32_t* taken, cke_error* e) noexcept;
int32_t session_save(const cke_session* s, const char* path, cke_error* e) noexcept;
int32_t session_load(cke_session* s, const char* path, cke_error* e) noexcept;
int32_t session_slide(cke_session* s, uint32_t* positions, cke_error* e) noexcept;

// As model_from_tensors, of one of several ranks. Throws what loading throws.
cke_model* model_of_rank(const model_type& m, const cke_tensor* tensors, std::size_t count, int32_t names,
                         const char* source, const cke_options* o, const runtime::rank_link& link);
u32 image_first_id(const cke_image* i) noexcept;
void image_free(cke_image* i) noexcept;
const float* session_logits(const cke_session* s) noexcept;
u32 session_position(const cke_session* s) noexcept;
const u32* session_history(const cke_session* s) noexcept;
u32 session_rewind(cke_session* s, u32 position) noexcept;

// Throws unsupported.
cke_model* model_without_files(const char* path, cke_error* e) noexcept;

// What an exported model's type is made into.
template <class M, class Formats = graph::BF16, dtype KV = runtime::default_kv<Formats>, class Isa = isa::native,
          class How = runtime::by_tables>
struct exported {
  using program = graph::program<M, Formats>;
  static constexpr model_type type{runtime::compiled_program_of<program, KV, Isa, How>, names_of<M>()};

#ifndef CKE_READS_NO_FILES
  static cke_model* load(const char* path, const cke_options* o, cke_error* e) noexcept {
    return pointer<cke_model>(e, [&] {
      if (!path) throw Error(errc::usage, {}, "path", "a pointer", "null");
      const checkpoint from = gguf_weights(gguf::read(path));
      const model_options options = options_of(o);
      options.validate();
      match_config<M>(from, options.context);
      return new std::shared_ptr(std::make_shared<runtime::loaded_program>(type.compiled, from.tensors, from.name,
                                                                           from.as, type.names, options));
    });
  }
#else
  static cke_model* load(const char* path, const cke_options*, cke_error* e) noexcept {
    return model_without_files(path, e);
  }
#endif
};

}  // namespace cke::door

#ifndef CKE_COMPILED
#include "export-inl.hpp"
#endif

// CKE_EXPORT_MODEL(Model, Formats) or (Model, Formats, KV), once in a translation unit: defines the functions of cke.h
// for a cke::Model of these arguments, as symbols of the shared object that is made of the unit.
#define CKE_EXPORT_MODEL(...)                                                                                         \
  using cke_exported = ::cke::door::exported<__VA_ARGS__>;                                                            \
  uint32_t cke_abi_version(void) noexcept { return CKE_ABI_VERSION; }                                                 \
  cke_model* cke_model_load(const char* path, const cke_options* o, cke_error* e) noexcept {                          \
    return cke_exported::load(path, o, e);                                                                            \
  }                                                                                                                   \
  cke_model* cke_model_from_tensors(const cke_tensor* t, size_t n, int32_t names, const char* source,                 \
                                    const cke_options* o, cke_error* e) noexcept {                                    \
    return ::cke::door::model_from_tensors(cke_exported::type, t, n, names, source, o, e);                            \
  }                                                                                                                   \
  cke_packed_form cke_form_of_packed(void) noexcept { return ::cke::door::form_of_packed(cke_exported::type); }       \
  int32_t cke_model_packed(const cke_model* m, void (*take)(void*, const char*, const void*, uint64_t), void* user,   \
                           cke_error* e) noexcept {                                                                   \
    return ::cke::door::model_packed(m, take, user, e);                                                               \
  }                                                                                                                   \
  cke_model* cke_model_from_packed(const cke_packed* p, const char* source, const cke_options* o,                     \
                                   cke_error* e) noexcept {                                                           \
    return ::cke::door::model_from_packed(cke_exported::type, p, source, o, e);                                       \
  }                                                                                                                   \
  void cke_model_free(cke_model* m) noexcept { ::cke::door::model_free(m); }                                          \
  cke_facts cke_model_facts(const cke_model* m) noexcept { return ::cke::door::model_facts(m); }                      \
  int32_t cke_model_plan_json(const cke_options* o, void (*write)(void*, const char*, size_t), void* user,            \
                              cke_error* e) noexcept {                                                                \
    return ::cke::door::model_plan_json(cke_exported::type, o, write, user, e);                                       \
  }                                                                                                                   \
  cke_image* cke_image_add(const cke_model* m, const uint64_t key[2], uint32_t rows, uint32_t columns, int64_t time,  \
                           const float* features, size_t n, cke_error* e) noexcept {                                  \
    return ::cke::door::image_add(m, key, rows, columns, time, features, n, e);                                       \
  }                                                                                                                   \
  cke_image* cke_image_find(const cke_model* m, const uint64_t key[2], cke_error* e) noexcept {                       \
    return ::cke::door::image_find(m, key, e);                                                                        \
  }                                                                                                                   \
  uint32_t cke_image_first_id(const cke_image* i) noexcept { return ::cke::door::image_first_id(i); }                 \
  void cke_image_free(cke_image* i) noexcept { ::cke::door::image_free(i); }                                          \
  void cke_model_watch(const cke_model* m, cke_trace take, void* user) noexcept {                                     \
    ::cke::door::model_watch(m, take, user);                                                                          \
  }                                                                                                                   \
  cke_session* cke_session_create(const cke_model* m, cke_error* e) noexcept {                                        \
    return ::cke::door::session_create(m, e);                                                                         \
  }                                                                                                                   \
  cke_session* cke_session_fork(const cke_session* s, cke_error* e) noexcept {                                        \
    return ::cke::door::session_fork(s, e);                                                                           \
  }                                                                                                                   \
  void cke_session_free(cke_session* s) noexcept { ::cke::door::session_free(s); }                                    \
  int32_t cke_session_feed(cke_session* s, const uint32_t* ids, size_t n, cke_error* e) noexcept {                    \
    return ::cke::door::session_feed(s, ids, n, e);                                                                   \
  }                                                                                                                   \
  int32_t cke_session_feed_all(cke_session* s, const uint32_t* ids, size_t n,                                         \
                               void (*take)(void*, uint32_t, const float*), void* user, cke_error* e) noexcept {      \
    return ::cke::door::session_feed_all(s, ids, n, take, user, e);                                                   \
  }                                                                                                                   \
  int32_t cke_sessions_feed(const cke_turn* turns, size_t n, cke_error* e) noexcept {                                 \
    return ::cke::door::sessions_feed(turns, n, e);                                                                   \
  }                                                                                                                   \
  int32_t cke_session_recall(cke_session* s, const uint32_t* ids, size_t n, uint32_t* taken, cke_error* e) noexcept { \
    return ::cke::door::session_recall(s, ids, n, taken, e);                                                          \
  }                                                                                                                   \
  const float* cke_session_logits(const cke_session* s) noexcept { return ::cke::door::session_logits(s); }           \
  uint32_t cke_session_position(const cke_session* s) noexcept { return ::cke::door::session_position(s); }           \
  const uint32_t* cke_session_history(const cke_session* s) noexcept { return ::cke::door::session_history(s); }      \
  int32_t cke_session_save(const cke_session* s, const char* path, cke_error* e) noexcept {                           \
    return ::cke::door::session_save(s, path, e);                                                                     \
  }                                                                                                                   \
  int32_t cke_session_load(cke_session* s, const char* path, cke_error* e) noexcept {                                 \
    return ::cke::door::session_load(s, path, e);                                                                     \
  }                                                                                                                   \
  int32_t cke_session_slide(cke_session* s, uint32_t* positions, cke_error* e) noexcept {                             \
    return ::cke::door::session_slide(s, positions, e);                                                               \
  }                                                                                                                   \
  uint32_t cke_session_rewind(cke_session* s, uint32_t position) noexcept {                                           \
    return ::cke::door::session_rewind(s, position);                                                                  \
  }                                                                                                                   \
  static_assert(true, "so that a semicolon may follow")
