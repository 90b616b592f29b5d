/* SPDX-License-Identifier: MIT */
/* cke_train.h: the C interface that trains one compiled model. A shared object built with CKE_EXPORT_TRAINER
 * (export_trainer.hpp) exports it. Errors and ownership are as in cke.h; use a trainer from one thread at a time. */
#ifndef CKE_TRAIN_H
#define CKE_TRAIN_H

#include "cke.h"

/* Incremented with every change of a signature or a struct below. */
#define CKE_TRAIN_ABI_VERSION 5u

#define CKE_NO_TARGET 0xffffffffu /* of a target: the id has no part in the loss */

typedef struct cke_trainer cke_trainer;

typedef struct cke_train_options {
  uint32_t threads;        /* 0: one per core that the process may use */
  uint32_t context;        /* most ids of an example, and what rope's rules go by; 0: 4096 */
  uint32_t rows;           /* about so many ids in a pass; 0: 512; results do not depend on it */
  uint32_t gradients_only; /* 1: without an optimizer */
  uint32_t pads;           /* 1: the row of `padding` in an embedding learns nothing from being read */
  uint32_t padding;        /* an id */
  uint32_t recompute;      /* 1: values of a layer are computed twice and not kept: slower, far less memory */
  uint32_t bf16;           /* 1: products with weights round their factors to bf16; sums and all else stay in f32 */
  const char* in_f32;      /* but not with these: ends of names in Hugging Face's spelling: "lm_head"; NULL: none */
  float label_smoothing;   /* 0 to 1: this share of each target is spread over all ids */
  float z_loss;            /* 0 to 1000: times the square of log(sum(exp(logits))), which the loss then includes */
  float balance_loss;      /* 0 to 1000: times each router's load-balance loss, which the loss then includes */
  /* 0: all weights are trained. Else they are frozen, and low-rank additions (LoRA) to matrices of layers are trained:
   * alpha / rank times B A. The tensors' bytes have to outlive the trainer then. */
  uint32_t rank;
  float alpha;
  uint64_t seed;       /* of A; B begins as 0 */
  const char* targets; /* ends of the matrices' names in Hugging Face's spelling: "q_proj,v_proj"; NULL: all */
} cke_train_options;

/* Ids of a text, and for each the id that should follow it, or CKE_NO_TARGET. */
typedef struct cke_example {
  const uint32_t* ids;
  const uint32_t* targets;
  size_t count;
} cke_example;

typedef struct cke_adamw {
  float lr, beta1, beta2, eps, weight_decay, clip; /* clip: most norm of the gradients; 0: any */
} cke_adamw;

typedef struct cke_train_facts {
  uint32_t vocab, threads;
  uint64_t parameters, trained, weight_bytes, pass_bytes, steps;
  uint64_t products; /* multiplications of an id with matrices, on the way forth */
  const char* isa;
} cke_train_facts;

enum { CKE_PART_WEIGHTS, CKE_PART_GRADIENTS, CKE_PART_FIRST_MOMENTS, CKE_PART_SECOND_MOMENTS };

CKE_API uint32_t cke_train_abi_version(void) CKE_NOEXCEPT;
/* As cke_model_from_tensors. The weights become f32, whatever they are stored in. */
CKE_API cke_trainer* cke_trainer_from_tensors(const cke_tensor* tensors, size_t count, int32_t names,
                                              const char* source, const cke_train_options* options,
                                              cke_error* error) CKE_NOEXCEPT;
/* For a model without a checkpoint: what its tensors begin as, in f32, under Hugging Face's names. `take` receives
 * each; it is valid during the call. */
typedef struct cke_initial {
  uint64_t seed;
  float deviation;  /* of matrices' numbers: a config's initializer_range */
  uint32_t pads;    /* 1: the row of `padding` in an embedding is 0 */
  uint32_t padding; /* an id */
} cke_initial;
CKE_API int32_t cke_trainer_initial(const cke_initial* options, void (*take)(void* user, const cke_tensor* tensor),
                                    void* user, cke_error* error) CKE_NOEXCEPT;
/* Bytes that training all weights takes, in passes of options->rows ids in sequences of options->context; no model
 * needs to be loaded. */
typedef struct cke_train_plan {
  uint64_t weights, gradients, moments;
  uint64_t values;       /* of all layers, for the way back; recomputing: of one, and what passes between layers */
  uint64_t value_slopes; /* gradients of the values of one layer, and of what passes between layers */
  uint64_t rest;         /* keys and values, recurrent states, scratch of all threads */
} cke_train_plan;
CKE_API int32_t cke_trainer_plan(const cke_train_options* options, cke_train_plan* plan, cke_error* error) CKE_NOEXCEPT;
CKE_API void cke_trainer_free(cke_trainer* trainer) CKE_NOEXCEPT;
CKE_API cke_train_facts cke_trainer_facts(const cke_trainer* trainer) CKE_NOEXCEPT;
/* Adds `share` times the gradient of the mean loss over all targets of the examples; *loss is that mean: cross-entropy,
 * smoothed and with z_loss as the options say. */
CKE_API int32_t cke_trainer_add_gradients(cke_trainer* trainer, const cke_example* examples, size_t count, double share,
                                          double* loss, cke_error* error) CKE_NOEXCEPT;
/* *loss: the mean cross-entropy alone; gradients stay as they are. */
CKE_API int32_t cke_trainer_loss(cke_trainer* trainer, const cke_example* examples, size_t count, double* loss,
                                 cke_error* error) CKE_NOEXCEPT;
/* The logits of the id that follows `ids`: [vocab] of the facts. */
CKE_API int32_t cke_trainer_logits_after(cke_trainer* trainer, const uint32_t* ids, size_t count, float* logits,
                                         cke_error* error) CKE_NOEXCEPT;
CKE_API int32_t cke_trainer_gradient_norm(cke_trainer* trainer, double* norm, cke_error* error) CKE_NOEXCEPT;
/* A step of AdamW; the gradients are 0 after it. *norm is what their norm was. */
CKE_API int32_t cke_trainer_step(cke_trainer* trainer, const cke_adamw* options, double* norm,
                                 cke_error* error) CKE_NOEXCEPT;
/* Gradients become 0. */
CKE_API void cke_trainer_clear(cke_trainer* trainer) CKE_NOEXCEPT;
/* Copies the numbers of the tensor at `index` of those that were given at the start, in its shape: CKE_PART_... of the
 * trainer. *any is 0, and `to` untouched, if nothing in the tensor is trained. */
CKE_API int32_t cke_trainer_read(cke_trainer* trainer, int32_t part, size_t index, float* to, size_t count,
                                 int32_t* any, cke_error* error) CKE_NOEXCEPT;
/* What is added to a tensor, `name` in Hugging Face's spelling: A [rank][cols] and B [rows][rank]. */
typedef struct cke_added {
  const char* name;
  uint64_t rows, cols, rank;
} cke_added;
CKE_API size_t cke_trainer_added_count(const cke_trainer* trainer) CKE_NOEXCEPT;
CKE_API cke_added cke_trainer_added(const cke_trainer* trainer, size_t index) CKE_NOEXCEPT;
CKE_API int32_t cke_trainer_read_added(cke_trainer* trainer, int32_t part, size_t index, float* a, float* b,
                                       cke_error* error) CKE_NOEXCEPT;
CKE_API int32_t cke_trainer_write_added(cke_trainer* trainer, int32_t part, size_t index, const float* a,
                                        const float* b, cke_error* error) CKE_NOEXCEPT;
/* The way back, for a run that goes on: write weights and moments of all tensors, then call cke_trainer_resume. */
CKE_API int32_t cke_trainer_write(cke_trainer* trainer, int32_t part, size_t index, const float* from, size_t count,
                                  cke_error* error) CKE_NOEXCEPT;
CKE_API int32_t cke_trainer_resume(cke_trainer* trainer, uint64_t steps, cke_error* error) CKE_NOEXCEPT;

#endif
