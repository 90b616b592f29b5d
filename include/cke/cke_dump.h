/* SPDX-License-Identifier: MIT */
/* cke_dump.h: the C interface that runs one compiled model step by step, and shows what each step wrote. A shared
 * object built with CKE_EXPORT_STEPPER (export_dump.hpp) exports it. Errors and ownership are as in cke.h; use a
 * stepper from one thread at a time. */
#ifndef CKE_DUMP_H
#define CKE_DUMP_H

#include "cke.h"

/* Incremented with every change of a signature or a struct below. */
#define CKE_DUMP_ABI_VERSION 1u

typedef struct cke_stepper cke_stepper;

/* A step that has just run. `code` and `index` are its place in the JSON of cke_stepper_plan_json. */
typedef struct cke_step {
  uint32_t number; /* in the order in which steps run */
  int32_t layer;   /* -1: before or after the layers */
  uint32_t code, index;
  uint32_t tokens, position; /* rows of the pass; position of the first */
  uint32_t outputs;
  const void* report;
} cke_step;

typedef struct cke_step_output {
  uint32_t rows, width, type; /* the type is a number of cke::dtype */
  uint32_t readable;          /* 0: cke_step_read cannot say what it holds */
} cke_step_output;

/* Nonzero: the pass ends here. */
typedef int32_t (*cke_step_taker)(void* user, const cke_step* step);

CKE_API uint32_t cke_dump_abi_version(void) CKE_NOEXCEPT;
/* As cke_model_from_tensors. */
CKE_API cke_stepper* cke_stepper_from_tensors(const cke_tensor* tensors, size_t count, int32_t names,
                                              const char* source, const cke_options* options,
                                              cke_error* error) CKE_NOEXCEPT;
CKE_API void cke_stepper_free(cke_stepper* stepper) CKE_NOEXCEPT;
/* The codes that it walks, as one JSON object, in pieces. */
CKE_API int32_t cke_stepper_plan_json(const cke_options* options, void (*write)(void* user, const char* part, size_t n),
                                      void* user, cke_error* error) CKE_NOEXCEPT;
/* Feeds ids to a new sequence, in passes of options.chunk, with the logits of all of them. take(user, step) is called
 * after every step, on the calling thread's team, while nothing else runs; `step` is valid until it returns. */
CKE_API int32_t cke_stepper_run(cke_stepper* stepper, const uint32_t* ids, size_t count, cke_step_taker take,
                                void* user, cke_error* error) CKE_NOEXCEPT;
/* Of a step, while `take` has it. The second writes rows * width numbers. */
CKE_API cke_step_output cke_step_output_of(const cke_step* step, uint32_t output) CKE_NOEXCEPT;
CKE_API void cke_step_read(const cke_step* step, uint32_t output, float* to) CKE_NOEXCEPT;
/* How often each opcode, by its number, was run as a letter of the plan since the stepper was made. */
CKE_API uint64_t cke_stepper_letters(const cke_stepper* stepper, uint32_t opcode) CKE_NOEXCEPT;

#endif
