/* SPDX-License-Identifier: MIT */
/* cke.h: one model behind C functions. A shared object that says CKE_EXPORT_MODEL (export.hpp) has them all.
 *
 * Functions that can fail take a cke_error, which may be null, and return null or a code other than 0; the
 * object is then as it was. Nothing is global: any number of models and sessions. A session is not for two
 * threads at once; sessions of one model may be used from several threads and take turns. */
#ifndef CKE_H
#define CKE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define CKE_API extern "C" __attribute__((visibility("default")))
#define CKE_NOEXCEPT noexcept
#else
#define CKE_API
#define CKE_NOEXCEPT
#endif

/* Changes with every change of a signature or a struct below. */
#define CKE_ABI_VERSION 9u

typedef struct cke_model cke_model;
typedef struct cke_session cke_session;

typedef struct cke_error {
  int32_t code; /* 0: none; else 1 + cke::errc */
  char message[512];
} cke_error;

/* How a model is loaded; all zero means the defaults. */
typedef struct cke_options {
  uint32_t threads;    /* 0: the cores that the process may use */
  uint32_t context;    /* positions of a session; 0: 4096 */
  uint32_t chunk;      /* most tokens of one pass; 0: 512 */
  uint32_t logit_rows; /* most rows of logits of one pass; 0: 1 */
  uint32_t cache_positions; /* of all sessions together; 0: as many as they have contexts */
  void (*progress)(void* user, uint64_t done, uint64_t total); /* weights; may be null */
  /* Of tensors in memory: these bytes were copied, and their pages may go. From any thread; may be null. */
  void (*copied)(void* user, const void* data, uint64_t bytes);
  void* user;
} cke_options;

/* One tensor of a checkpoint. The bytes are read while the model loads, and not kept. */
typedef struct cke_tensor {
  const char* name;  /* as in the file, with ".weight" or ".bias" */
  uint32_t type;     /* GGUF's numbers: 0 f32, 1 f16, 8 q8_0, 30 bf16; 64: f8_e4m3, with scales in NAME_scale_inv; 255: one that cke cannot compute with */
  uint32_t rank;
  const uint64_t* shape; /* [rank], as in torch: slowest first */
  const void* data;
  uint64_t bytes;
} cke_tensor;

/* Ids for a session, when several are fed together. */
typedef struct cke_turn {
  cke_session* session;
  const uint32_t* ids;
  size_t count;
  /* Null, or gets the hidden state [dim] after the last norm of each id; no logits are then computed. */
  void (*hidden)(void* user, uint32_t index, const float* row);
  /* Null, or gets the logits [vocab] after each id. */
  void (*each)(void* user, uint32_t index, const float* row);
  void* user;
} cke_turn;

enum { CKE_NAMES_HF = 0, CKE_NAMES_GGUF = 1 };

typedef struct cke_facts {
  uint32_t vocab, context, threads;
  uint32_t kv_type; /* of the caches, in GGUF's numbers */
  uint32_t dim;     /* of a hidden state */
  uint64_t parameters, weight_bytes, activation_bytes, state_bytes;
  const char* isa; /* that the kernels were compiled for */
} cke_facts;

/* What a thread did from `begin` to `end`, in ns of a steady clock: a step of a code, as the plan numbers them
 * (header, bodies, footer), or UINT32_MAX: it waited for the others. */
typedef void (*cke_trace)(void* user, uint32_t thread, uint32_t code, uint32_t step, uint64_t begin, uint64_t end);

/* Ask first: the other functions are as this header says only where it returns CKE_ABI_VERSION. */
CKE_API uint32_t cke_abi_version(void) CKE_NOEXCEPT;

/* From a GGUF file, whose config must be the one that the model was compiled for. */
CKE_API cke_model* cke_model_load(const char* path, const cke_options*, cke_error*) CKE_NOEXCEPT;
/* From tensors in memory under the names of `naming`: exactly those that the model has. `source` is what
 * messages call them. The caller vouches that they are of the config that the model was compiled for. */
CKE_API cke_model* cke_model_from_tensors(const cke_tensor* tensors, size_t count, int32_t naming, const char* source,
                                          const cke_options*, cke_error*) CKE_NOEXCEPT;
/* Sessions keep what they need of a model alive. */
CKE_API void cke_model_free(cke_model*) CKE_NOEXCEPT;
CKE_API cke_facts cke_model_facts(const cke_model*) CKE_NOEXCEPT;
/* The program and its memory plan for these options, as JSON text; needs no loaded model. */
CKE_API int32_t cke_model_plan_json(const cke_options*, void (*write)(void* user, const char* text, size_t bytes),
                                    void* user, cke_error*) CKE_NOEXCEPT;

/* From the next pass of any session on, take is called on each thread for each step; null: no more. */
CKE_API void cke_model_watch(const cke_model*, cke_trace take, void* user) CKE_NOEXCEPT;

CKE_API cke_session* cke_session_create(const cke_model*, cke_error*) CKE_NOEXCEPT;
CKE_API cke_session* cke_session_fork(const cke_session*, cke_error*) CKE_NOEXCEPT;
CKE_API void cke_session_free(cke_session*) CKE_NOEXCEPT;
/* Runs ids through the model after what came before. */
CKE_API int32_t cke_session_feed(cke_session*, const uint32_t* ids, size_t count, cke_error*) CKE_NOEXCEPT;
/* The same; take gets the logits [vocab] after each id. */
CKE_API int32_t cke_session_feed_all(cke_session*, const uint32_t* ids, size_t count,
                                     void (*take)(void* user, uint32_t index, const float* row), void* user,
                                     cke_error*) CKE_NOEXCEPT;
/* Different sessions of one model take ids, each its own; the logits of each are then those after its last id,
 * unless it gives hidden states.
 * An error names the turn by its number where there are several, and leaves all sessions as they were. */
CKE_API int32_t cke_sessions_feed(const cke_turn* turns, size_t count, cke_error*) CKE_NOEXCEPT;
/* [vocab], after the last id; valid until the next feed. */
CKE_API const float* cke_session_logits(const cke_session*) CKE_NOEXCEPT;
CKE_API uint32_t cke_session_position(const cke_session*) CKE_NOEXCEPT;
/* The ids so far, `position` of them; valid until the session changes. */
CKE_API const uint32_t* cke_session_history(const cke_session*) CKE_NOEXCEPT;
/* Writes ids, logits and states to a file, which appears, or replaces one of its name, when it is complete. */
CKE_API int32_t cke_session_save(const cke_session*, const char* path, cke_error*) CKE_NOEXCEPT;
/* At position 0: the session becomes the saved one, to the bit. A file that is damaged or of another model is refused. */
CKE_API int32_t cke_session_load(cke_session*, const char* path, cke_error*) CKE_NOEXCEPT;
/* At position 0: takes a prefix of ids from the prefix cache of the model, in whole pages of 128 positions (up to 1024 with
 * recurrent states); the last id is always left to be fed. `taken` receives the position after the prefix. */
CKE_API int32_t cke_session_recall(cke_session*, const uint32_t* ids, size_t count, uint32_t* taken,
                                   cke_error*) CKE_NOEXCEPT;
/* From now on the session and its forks may outgrow the context, with the results of a longer one. Every layer must have a
 * window no longer than the context, or a recurrent state; an error names a layer that sees the whole history. `positions`
 * receives the new limit. */
CKE_API int32_t cke_session_slide(cke_session*, uint32_t* positions, cke_error*) CKE_NOEXCEPT;
/* Forgets ids from `position` on. Recurrent states go back to the end of a page (of 128 to 1024 positions), windows farther
 * if their pages were evicted: the next feed computes the ids in between again. */
CKE_API void cke_session_rewind(cke_session*, uint32_t position) CKE_NOEXCEPT;

#endif
