/* SPDX-License-Identifier: MIT */
/* cke_bare.h: the C interface that writes the image of a model without an operating system (bare.hpp). A shared object
 * built with CKE_EXPORT_BARE (export_bare.hpp) exports it. Errors are as in cke.h. */
#ifndef CKE_BARE_H
#define CKE_BARE_H

#include "cke.h"

/* Incremented with every change of a signature below. */
#define CKE_BARE_ABI_VERSION 1u

CKE_API uint32_t cke_bare_abi_version(void) CKE_NOEXCEPT;
/* Packs tensors, as cke_model_from_tensors takes them, and calls `take` once with the image. Of the options, threads
 * and progress count. */
CKE_API int32_t cke_bare_image(const cke_tensor* tensors, size_t count, int32_t names, const char* source,
                               const cke_options* options, void (*take)(void* user, const void* image, uint64_t bytes),
                               void* user, cke_error* error) CKE_NOEXCEPT;
CKE_API uint32_t cke_bare_vocab(void) CKE_NOEXCEPT;
/* Bytes that the model writes to, on this machine: pointers have another size on others. */
CKE_API uint64_t cke_bare_memory_bytes(void) CKE_NOEXCEPT;

#endif
