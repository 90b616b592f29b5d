// SPDX-License-Identifier: MIT
// export_ranks.hpp: CKE_EXPORT_RANKS, which defines the functions of cke_ranks.h and cke.h for one model.
#pragma once

#include "cke_ranks.h"
#include "door.hpp"
#include "export.hpp"
#include "graph/describe_ranks.hpp"
#include "runtime/ranks.hpp"

namespace cke::door {

// Throws config_range, usage.
inline runtime::rank_link link_of(const cke_rank_link* from) {
  if (!from || !from->all_gather) throw Error(errc::usage, {}, "link", "a pointer, and a function", "null");
  if (from->rank >= from->count)
    throw Error(errc::config_range, {}, "rank", concat({"less than ", from->count}), concat({from->rank}));
  return {from->rank, from->count, from->all_gather, from->user};
}

inline int32_t write_ranks_plan(const graph::program_data& p, u32 ranks, void (*write)(void*, const char*, std::size_t),
                                void* user, cke_error* e) noexcept {
  return status(e, [&] {
    if (ranks < 1 || ranks > 65536) throw Error(errc::config_range, {}, "ranks", "1 to 65536", concat({ranks}));
    const std::string text = describe_ranks_json(p, ranks, simd::expands_bf16<isa::native> ? 4 : 2);
    write(user, text.data(), text.size());
  });
}

}  // namespace cke::door

// CKE_EXPORT_RANKS(Model, Formats, KV), once in a translation unit.
#define CKE_EXPORT_RANKS(Model, Formats, KV)                                                                           \
  CKE_EXPORT_MODEL(Model, Formats, KV, ::cke::isa::native, ::cke::runtime::by_ranks);                                  \
  uint32_t cke_ranks_abi_version(void) noexcept { return CKE_RANKS_ABI_VERSION; }                                      \
  cke_model* cke_model_of_rank(const cke_tensor* t, size_t n, int32_t names, const char* source, const cke_options* o, \
                               const cke_rank_link* link, cke_error* e) noexcept {                                     \
    return ::cke::door::pointer<cke_model>(e, [&] {                                                                    \
      return ::cke::door::model_of_rank(cke_exported::type, t, n, names, source, o, ::cke::door::link_of(link));       \
    });                                                                                                                \
  }                                                                                                                    \
  int32_t cke_ranks_plan_json(uint32_t ranks, void (*write)(void*, const char*, size_t), void* user,                   \
                              cke_error* e) noexcept {                                                                 \
    return ::cke::door::write_ranks_plan(cke_exported::program::data, ranks, write, user, e);                          \
  }                                                                                                                    \
  static_assert(true, "so that a semicolon may follow")
