/* SPDX-License-Identifier: MIT */
/* cke.h: the C interface of one compiled model. A shared object built with CKE_EXPORT_MODEL (export.hpp) exports it.
 *
 * A function that can fail takes a cke_error, which may be null. On failure it returns null or a nonzero code and
 * leaves its object unchanged. There is no global state: a process may have any number of models and sessions. Use a
 * session from one thread at a time; several threads may use sessions of one model, whose passes then take turns. */
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

/* Incremented with every change of a signature or a struct below. */
#define CKE_ABI_VERSION 16u

typedef struct cke_model cke_model;
typedef struct cke_session cke_session;
typedef struct cke_image cke_image;
typedef struct cke_tower cke_tower;

typedef struct cke_error {
  int32_t code; /* 0: no error; otherwise 1 + cke::errc */
  char message[512];
} cke_error;

enum { CKE_DEFAULT = 0, CKE_OFF = 1, CKE_ON = 2 };
enum { CKE_TILED = 1, CKE_STREAMING = 2 };

/* Hints for layers first to last alone, which count from 0; a field of 0: as in cke_hints. */
typedef struct cke_layer_hints {
  uint32_t first, last;
  uint32_t units_per_claim;
  uint32_t attention_decode;
} cke_layer_hints;

/* What changes a model's speed and never its results (core/hints.hpp); all zero selects the defaults. */
typedef struct cke_hints {
  uint32_t prefill_threads, decode_threads; /* in a pass of that form, at most; 0: all threads of the model */
  uint32_t units_per_claim;                 /* units of work that a thread takes at a time; 0: 1 */
  uint32_t spins;                           /* pauses before a waiting thread goes to sleep; 0: 2000 */
  uint32_t fewer_threads;                   /* while threads have to wait for cpus; CKE_DEFAULT: CKE_ON */
  uint32_t huge_pages;                      /* CKE_DEFAULT: CKE_ON */
  uint32_t attention_decode;                /* CKE_DEFAULT: CKE_TILED */
  uint32_t layer_count;                     /* at most 48 */
  const cke_layer_hints* layers;            /* the first that has a layer and a number counts */
} cke_hints;

/* How a model is loaded; all zero selects the defaults. */
typedef struct cke_options {
  uint32_t threads;         /* 0: one per core that the process may use */
  uint32_t context;         /* positions of a session; 0: 4096 */
  uint32_t chunk;           /* most tokens in one pass; 0: 512 */
  uint32_t logit_rows;      /* most rows of logits in one pass; 0: 1 */
  uint32_t cache_positions; /* shared by all sessions; 0: enough for a full context in each session */
  /* Numbers of weights packed so far, and in all; may be null. */
  void (*progress)(void* user, uint64_t done, uint64_t total);
  /* Called from any thread once these bytes of a tensor have been read. They may be read again, so that pages of a
   * mapped file may go, and no other memory; may be null. */
  void (*read)(void* user, const void* data, uint64_t bytes);
  /* Called with all bytes of a tensor once they are copied and may be released; may be null. */
  void (*copied)(void* user, const void* data, uint64_t bytes);
  void* user;
  cke_hints hints;
} cke_options;

/* One tensor of a checkpoint. Its bytes are read only while the model loads. */
typedef struct cke_tensor {
  const char* name; /* as in the file, including ".weight" or ".bias" */
  /* GGUF's numbers: 0 f32, 1 f16, 8 q8_0, 30 bf16; 64: f8_e4m3, with its scales in NAME_scale_inv; 255: a type that
   * cke cannot compute with */
  uint32_t type;
  uint32_t rank;
  const uint64_t* shape; /* [rank], slowest dimension first, as in torch */
  const void* data;
  uint64_t bytes;
} cke_tensor;

/* What packed weights have in common with the unit that reads them. */
typedef struct cke_packed_form {
  uint64_t program; /* a checksum of the program and its number formats */
  uint32_t layout;  /* of packed matrices */
  const char* isa;  /* that they are packed for */
} cke_packed_form;

/* Packed weights in memory: one after the other, as cke_model_packed gives them. */
typedef struct cke_packed {
  const void* data;      /* aligned to 64 bytes */
  uint64_t bytes;        /* of all */
  const uint64_t* sizes; /* [count], in bytes */
  size_t count;
  cke_packed_form form; /* of the unit that packed them */
} cke_packed;

/* The ids that one session contributes to a batched pass. */
typedef struct cke_turn {
  cke_session* session;
  const uint32_t* ids;
  size_t count;
  /* If not null: receives the hidden state [dim] of each id after the last norm; no logits are then computed. */
  void (*hidden)(void* user, uint32_t index, const float* row);
  /* If not null: receives the logits [vocab] after each id. */
  void (*each)(void* user, uint32_t index, const float* row);
  void* user;
} cke_turn;

enum { CKE_NAMES_HF = 0, CKE_NAMES_GGUF = 1 };

typedef struct cke_facts {
  uint32_t vocab, context, threads;
  uint32_t kv_type;     /* number format of the KV cache, in GGUF's numbers */
  uint32_t dim;         /* width of a hidden state */
  uint32_t image_width; /* numbers of a row of an image's features; 0: the model sees no images */
  uint64_t parameters, weight_bytes, activation_bytes, state_bytes;
  const char* isa; /* instruction set that the kernels were compiled for */
} cke_facts;

/* What a thread did from `begin` to `end`, in ns of a steady clock. `code` and `step` are numbered as in the plan
 * (header, bodies, footer); step UINT32_MAX is time spent waiting for the other threads. */
typedef void (*cke_trace)(void* user, uint32_t thread, uint32_t code, uint32_t step, uint64_t begin, uint64_t end);

/* Call this first: unless it returns CKE_ABI_VERSION, the other functions differ from this header. */
CKE_API uint32_t cke_abi_version(void) CKE_NOEXCEPT;

/* Loads a GGUF file, whose config must equal the one that the model was compiled for. */
CKE_API cke_model* cke_model_load(const char* path, const cke_options*, cke_error*) CKE_NOEXCEPT;
/* Loads tensors from memory, named as `naming` says: exactly those that the model has. Error messages call their origin
 * `source`. The caller vouches that the tensors belong to the config that the model was compiled for. */
CKE_API cke_model* cke_model_from_tensors(const cke_tensor* tensors, size_t count, int32_t naming, const char* source,
                                          const cke_options*, cke_error*) CKE_NOEXCEPT;
/* The form of this unit's packed weights. */
CKE_API cke_packed_form cke_form_of_packed(void) CKE_NOEXCEPT;
/* Calls `take` with each packed weight, in the order in which they lie one after the other. */
CKE_API int32_t cke_model_packed(const cke_model*,
                                 void (*take)(void* user, const char* name, const void* data, uint64_t bytes),
                                 void* user, cke_error*) CKE_NOEXCEPT;
/* A model over packed weights, which are not copied: they must stay as they are until the model and all its sessions
 * are freed. Their form, and all by which a kernel finds its way in them, is checked; the caller vouches for the
 * numbers themselves. Error messages call their origin `source`. */
CKE_API cke_model* cke_model_from_packed(const cke_packed*, const char* source, const cke_options*,
                                         cke_error*) CKE_NOEXCEPT;
/* Sessions keep alive what they need of the model. */
CKE_API void cke_model_free(cke_model*) CKE_NOEXCEPT;
CKE_API cke_facts cke_model_facts(const cke_model*) CKE_NOEXCEPT;
/* Writes the program and its memory plan for these options as JSON text; no model needs to be loaded. */
CKE_API int32_t cke_model_plan_json(const cke_options*, void (*write)(void* user, const char* text, size_t bytes),
                                    void* user, cke_error*) CKE_NOEXCEPT;

/* From the next pass of any session on, each thread calls `take` for each step; null stops it. Of an
 * unrolled model (cke::unrolled) nothing is called. */
CKE_API void cke_model_watch(const cke_model*, cke_trace take, void* user) CKE_NOEXCEPT;

CKE_API cke_session* cke_session_create(const cke_model*, cke_error*) CKE_NOEXCEPT;
CKE_API cke_session* cke_session_fork(const cke_session*, cke_error*) CKE_NOEXCEPT;
CKE_API void cke_session_free(cke_session*) CKE_NOEXCEPT;
/* Appends ids to the session and computes them. */
CKE_API int32_t cke_session_feed(cke_session*, const uint32_t* ids, size_t count, cke_error*) CKE_NOEXCEPT;
/* The same; `take` receives the logits [vocab] after each id. */
CKE_API int32_t cke_session_feed_all(cke_session*, const uint32_t* ids, size_t count,
                                     void (*take)(void* user, uint32_t index, const float* row), void* user,
                                     cke_error*) CKE_NOEXCEPT;
/* Feeds several sessions of one model in one pass, each with its own ids. cke_session_logits of each then returns the
 * logits after its last id, unless its turn asks for hidden states.
 * An error message names the turn by its index; all sessions are then unchanged. */
CKE_API int32_t cke_sessions_feed(const cke_turn* turns, size_t count, cke_error*) CKE_NOEXCEPT;
/* The logits [vocab] after the last id; valid until the next feed. */
CKE_API const float* cke_session_logits(const cke_session*) CKE_NOEXCEPT;
CKE_API uint32_t cke_session_position(const cke_session*) CKE_NOEXCEPT;
/* The ids so far, cke_session_position of them; valid until the session changes. */
CKE_API const uint32_t* cke_session_history(const cke_session*) CKE_NOEXCEPT;
/* Saves the session to a file, which appears under `path`, or replaces the one there, only once it is complete. */
CKE_API int32_t cke_session_save(const cke_session*, const char* path, cke_error*) CKE_NOEXCEPT;
/* Restores a saved session of this model into a session at position 0, which then continues with the same bits. A file
 * that is damaged or of another model is refused. */
CKE_API int32_t cke_session_load(cke_session*, const char* path, cke_error*) CKE_NOEXCEPT;
/* Prefix cache: a session at position 0 takes over what sessions of this model have computed for the longest prefix of
 * ids, in whole pages of 128 positions (up to 1024 with recurrent states). The last id always remains to be fed.
 * `taken` receives the position after the prefix. */
CKE_API int32_t cke_session_recall(cke_session*, const uint32_t* ids, size_t count, uint32_t* taken,
                                   cke_error*) CKE_NOEXCEPT;
/* Lets the session and its forks grow past the context length. Every layer must have a recurrent state, or a window no
 * longer than the context; else the error names a layer with full attention. `positions` receives the new limit. */
CKE_API int32_t cke_session_slide(cke_session*, uint32_t* positions, cke_error*) CKE_NOEXCEPT;
/* Drops everything after `position`. Recurrent states return to a page boundary (128 to 1024 positions), windows
 * farther back if their pages are gone; the next feed recomputes the positions between. Until then cke_session_logits
 * are those from before; a feed of no ids suffices. Returns the position that the states have returned to. */
CKE_API uint32_t cke_session_rewind(cke_session*, uint32_t position) CKE_NOEXCEPT;

/* ---- images --------------------------------------------------------------------------------------- */

/* Gives a model an image for its prompts: its rows stand there as the ids from cke_image_first_id on, one for each cell
 * of a grid of rows x columns, all and in order. `features`: [rows * columns][image_width], as a tower leaves them.
 * Equal keys, a hash of 128 bits, name equal images, which are held once. Sessions keep alive what they have been fed.
 * `time`: -1, or of a frame that goes on where another of its video ends: positions of rope since the first frame.
 */
CKE_API cke_image* cke_image_add(const cke_model*, const uint64_t key[2], uint32_t rows, uint32_t columns, int64_t time,
                                 const float* features, size_t count, cke_error*) CKE_NOEXCEPT;
/* The image of a key, if the model still has it; null without an error: it does not. */
CKE_API cke_image* cke_image_find(const cke_model*, const uint64_t key[2], cke_error*) CKE_NOEXCEPT;
CKE_API uint32_t cke_image_first_id(const cke_image*) CKE_NOEXCEPT;
CKE_API void cke_image_free(cke_image*) CKE_NOEXCEPT;

/* A shared object built with CKE_EXPORT_TOWER (export_tower.hpp) has cke_abi_version and these functions. */

/* An image, as its processor leaves it: rows of patches in the order of the tower, or the pixels of one channel after
 * another; the other pointer is null. */
typedef struct cke_patches {
  uint32_t grid_height, grid_width;       /* in patches */
  const float* rows;                      /* [patches][numbers of a patch] */
  uint32_t raster;                        /* rows are in raster order, not in that of the tower */
  const float* pixels;                    /* [channels][height][width] */
  size_t count;                           /* numbers at the pointer */
  uint32_t channels, height, width, side; /* of the pixels; side: of a patch */
} cke_patches;

typedef struct cke_tower_facts {
  uint32_t width; /* of a row of features: of the last letters, then of each deepstack letter */
  uint32_t patch; /* numbers of a patch */
  uint32_t merge; /* a row of features stands for merge x merge patches */
  uint32_t threads;
  uint64_t parameters, weight_bytes, activation_bytes;
  const char* isa;
} cke_tower_facts;

/* As cke_model_from_tensors; of the options only threads and the callbacks count. */
CKE_API cke_tower* cke_tower_from_tensors(const cke_tensor* tensors, size_t count, int32_t naming, const char* source,
                                          const cke_options*, cke_error*) CKE_NOEXCEPT;
CKE_API void cke_tower_free(cke_tower*) CKE_NOEXCEPT;
CKE_API cke_tower_facts cke_tower_facts_of(const cke_tower*) CKE_NOEXCEPT;
/* Writes the program and its memory plan for images of up to `patches` patches as JSON text. */
CKE_API int32_t cke_tower_plan_json(uint32_t patches, void (*write)(void* user, const char* text, size_t bytes),
                                    void* user, cke_error*) CKE_NOEXCEPT;
/* Rows of features of a grid of patches; 0 and an error: the tower cannot take it. */
CKE_API uint32_t cke_tower_rows(const cke_tower*, uint32_t grid_height, uint32_t grid_width, cke_error*) CKE_NOEXCEPT;
/* Writes the features of an image, [cke_tower_rows][width]; `count`: numbers that `features` has room for. */
CKE_API int32_t cke_tower_encode(cke_tower*, const cke_patches*, float* features, size_t count,
                                 cke_error*) CKE_NOEXCEPT;

#endif
