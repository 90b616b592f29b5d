// SPDX-License-Identifier: MIT
// export_bare.hpp: CKE_EXPORT_BARE, which defines the functions of cke_bare.h for one model.
#pragma once

#include "bare_image.hpp"
#include "cke_bare.h"
#include "door.hpp"

namespace cke::door {

template <class M, class Formats, dtype KV, u32 Context, class Isa> struct exported_bare {
  using bare = bare_model<M, Formats, KV, Context, Isa>;

  static int32_t image(const cke_tensor* tensors, std::size_t count, int32_t names, const char* source,
                       const cke_options* o, void (*take)(void*, const void*, u64), void* user, cke_error* e) noexcept {
    return status(e, [&] {
      const tensor_index index = index_of(tensors, count, source, o);
      const model_options options = options_of(o);
      options.validate();
      runtime::team threads(options.threads ? options.threads : runtime::default_threads());
      const naming as = names == CKE_NAMES_GGUF ? naming::gguf : naming::hf;
      const runtime::weights packed(runtime::packed_layout_of<typename bare::program, Isa>, index, source, as,
                                    names_of<M>(), threads, options.progress);
      const auto written = bare_image<bare>(packed);
      take(user, written.data(), written.size());
    });
  }
};

}  // namespace cke::door

// CKE_EXPORT_BARE(Model, Formats, KV, Context, Isa), once in a translation unit.
#define CKE_EXPORT_BARE(...)                                                                                     \
  using cke_exported_bare = ::cke::door::exported_bare<__VA_ARGS__>;                                             \
  uint32_t cke_bare_abi_version(void) noexcept { return CKE_BARE_ABI_VERSION; }                                  \
  int32_t cke_bare_image(const cke_tensor* t, size_t n, int32_t names, const char* source, const cke_options* o, \
                         void (*take)(void*, const void*, uint64_t), void* user, cke_error* e) noexcept {        \
    return cke_exported_bare::image(t, n, names, source, o, take, user, e);                                      \
  }                                                                                                              \
  uint32_t cke_bare_vocab(void) noexcept { return cke_exported_bare::bare::vocab_size; }                         \
  uint64_t cke_bare_memory_bytes(void) noexcept { return cke_exported_bare::bare::memory_bytes; }                \
  static_assert(true, "so that a semicolon may follow")
