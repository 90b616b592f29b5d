/* SPDX-License-Identifier: MIT */
/* cke_ranks.h: the C interface of a compiled model that runs on several ranks, processes of one or more machines. A
 * shared object built with CKE_EXPORT_RANKS (export_ranks.hpp) exports it, and that of cke.h. */
#ifndef CKE_RANKS_H
#define CKE_RANKS_H

#include "cke.h"

/* Incremented with every change of a signature or a struct below. */
#define CKE_RANKS_ABI_VERSION 1u

/* A rank's way to the others. */
typedef struct cke_rank_link {
  uint32_t rank, count;
  /* Called by every rank with the same sizes, bytes[count], from the thread that feeds a session. Returns when `all`
   * has the parts of all ranks, one after the other. It cannot fail: where a rank is lost, the process must end. */
  void (*all_gather)(void* user, const void* mine, void* all, const uint64_t* bytes);
  void* user;
} cke_rank_link;

CKE_API uint32_t cke_ranks_abi_version(void) CKE_NOEXCEPT;
/* As cke_model_from_tensors, of one rank: it packs its part of the weights. All ranks must load the same tensors with
 * the same options, but for the threads, and then make, feed, rewind and free the same sessions, in one order. The
 * logits are those of one rank, bit for bit, and every rank has them. */
CKE_API cke_model* cke_model_of_rank(const cke_tensor* tensors, size_t count, int32_t naming, const char* source,
                                     const cke_options*, const cke_rank_link*, cke_error*) CKE_NOEXCEPT;
/* Writes what each of so many ranks holds and sends for a token as JSON text; no model needs to be loaded. */
CKE_API int32_t cke_ranks_plan_json(uint32_t ranks, void (*write)(void* user, const char* text, size_t bytes),
                                    void* user, cke_error*) CKE_NOEXCEPT;

#endif
