/* SPDX-License-Identifier: MIT */
/* cke_engine.h: the C interface of libcke.so, which runs any checkpoint: it opens a Hugging Face directory or a .gguf
 * file, compiles its model on first use as the command does, and has tokenizer, chat templates, sampling, grammars and
 * sessions. The Python package is written over it. (cke.h is the interface of one compiled model.)
 *
 * Texts are UTF-8. A function that can fail takes a cke_engine_error, which may be null; on failure it returns null or
 * a nonzero code and leaves its object unchanged. No null pointer, wrong id or wrong order of calls is undefined: it is
 * an error. There is no global state, and no function prints, but for the progress of loading on a terminal.
 *
 * Threads: an engine may be used from any number of threads. A session or an answer belongs to one call at a time; a
 * second one is an error. cke_engine_answer_cancel may be called at any time. */
#ifndef CKE_ENGINE_H
#define CKE_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define CKE_ENGINE_API extern "C" __attribute__((visibility("default")))
#define CKE_ENGINE_NOEXCEPT noexcept
#else
#define CKE_ENGINE_API
#define CKE_ENGINE_NOEXCEPT
#endif

/* Incremented with every change of a signature or a struct below. */
#define CKE_ENGINE_VERSION 1u

typedef struct cke_engine cke_engine;
typedef struct cke_engine_session cke_engine_session;
typedef struct cke_engine_answer cke_engine_answer;

/* The parts are empty where an error does not have them; each is cut to its array, at a character's beginning. */
typedef struct cke_engine_error {
  int32_t code; /* 0: no error; otherwise 1 + cke::errc, see cke_engine_error_name */
  char message[2048];
  char file[512];    /* as the caller named it, or a file of a directory that the caller named */
  char subject[512]; /* the tensor, key, field or function that the error is about */
  char expected[512];
  char found[512];
} cke_engine_error;

/* How a checkpoint is opened; all zero selects the defaults, which are those of `cke serve`. */
typedef struct cke_engine_options {
  const char* format;      /* of weights: what `cke run --format` takes; null: as stored */
  const char* kv;          /* of keys and values: f32, f16, bf16, q8_0; null: by `format` */
  const char* mmproj;      /* the file with the vision tower of a .gguf file; null: one beside it, if any */
  const char* draft_model; /* a smaller checkpoint that guesses ids for cke_engine_ask; null: the text so far does */
  uint32_t threads;        /* 0: one per core that the process may use */
  uint32_t context;        /* positions of a session; 0: the model's, at most 4096 */
  uint32_t chunk;          /* most ids of one pass; 0: 512 */
  uint32_t slots;          /* answers of cke_engine_ask that run at the same time; 0: 4 */
  uint32_t draft;          /* ids guessed in one step, for all of those answers; 0: none */
} cke_engine_options;

/* The texts and ids live as long as the engine. */
typedef struct cke_engine_facts {
  const char *name, *family, *format, *kv, *isa;
  uint32_t vocab, dim, context, threads, slots;
  uint32_t has_tokenizer, has_chat, sees_images; /* 0 or 1 */
  uint32_t bos, eos;                             /* ids that begin and end a text; UINT32_MAX: none */
  const uint32_t* stop_ids;                      /* [stop_id_count]: ids that end an answer */
  size_t stop_id_count;
  uint64_t parameters, weight_bytes, activation_bytes, state_bytes; /* state_bytes: of one session, at most */
} cke_engine_facts;

/* The ids that one session contributes to a batched pass. */
typedef struct cke_engine_turn {
  cke_engine_session* session;
  const uint32_t* ids;
  size_t count;
} cke_engine_turn;

typedef void (*cke_engine_take_text)(void* user, const char* text, size_t bytes);
typedef void (*cke_engine_take_ids)(void* user, const uint32_t* ids, size_t count);

/* Call this first: unless it returns CKE_ENGINE_VERSION, the other functions differ from this header. */
CKE_ENGINE_API uint32_t cke_engine_version(void) CKE_ENGINE_NOEXCEPT;
/* "tensor_shape", "usage" and the like; "" for 0 and for what is no code. */
CKE_ENGINE_API const char* cke_engine_error_name(int32_t code) CKE_ENGINE_NOEXCEPT;

/* ---- a checkpoint --------------------------------------------------------------------------------- */

/* Opens a directory or a .gguf file, and compiles its model if the cache does not have it. */
CKE_ENGINE_API cke_engine* cke_engine_open(const char* path, const cke_engine_options*,
                                           cke_engine_error*) CKE_ENGINE_NOEXCEPT;
/* Compiles without loading; `take` receives the path of the shared object. */
CKE_ENGINE_API int32_t cke_engine_build(const char* path, const cke_engine_options*, cke_engine_take_text take,
                                        void* user, cke_engine_error*) CKE_ENGINE_NOEXCEPT;
/* Sessions and answers stay valid; they keep alive what they need. */
CKE_ENGINE_API void cke_engine_close(cke_engine*) CKE_ENGINE_NOEXCEPT;
CKE_ENGINE_API int32_t cke_engine_facts_of(const cke_engine*, cke_engine_facts*, cke_engine_error*) CKE_ENGINE_NOEXCEPT;

/* add_special: with the ids that begin and end a text. parse_special: names of control tokens become those tokens. */
CKE_ENGINE_API int32_t cke_engine_tokenize(const cke_engine*, const char* text, size_t bytes, int32_t add_special,
                                           int32_t parse_special, cke_engine_take_ids take, void* user,
                                           cke_engine_error*) CKE_ENGINE_NOEXCEPT;
/* `how` of cke_engine_detokenize: 0, or a sum of
 *   BYTES          the bytes of the ids; without it what is not UTF-8 among them becomes U+FFFD
 *   NO_CONTROL     without control tokens
 *   LEADING_SPACE  with the space that SentencePiece puts before a text: for ids that continue others
 * Version 1 had BYTES alone at first, as `exact`, and took any other number for it; now that is an error. */
enum { CKE_ENGINE_BYTES = 1, CKE_ENGINE_NO_CONTROL = 2, CKE_ENGINE_LEADING_SPACE = 4 };
CKE_ENGINE_API int32_t cke_engine_detokenize(const cke_engine*, const uint32_t* ids, size_t count, int32_t how,
                                             cke_engine_take_text take, void* user,
                                             cke_engine_error*) CKE_ENGINE_NOEXCEPT;

/* ---- requests ------------------------------------------------------------------------------------- */

/* A request to `cke serve` (docs/serve.md), in this process: `path` is one of its routes, but for the
 * page, and `body` its JSON. Answers that run at the same time share each pass over the weights, and each has the
 * bytes that it has alone. More:
 *   /generate: the body of /v1/completions, for one prompt, with json_schema (an object: the answer is JSON of that
 *   schema). Its parts are plain text, and the answer ends with cke_engine_answer_end. */
CKE_ENGINE_API cke_engine_answer* cke_engine_ask(cke_engine*, const char* path, const char* body, size_t bytes,
                                                 cke_engine_error*) CKE_ENGINE_NOEXCEPT;

enum { CKE_ENGINE_END = 0, CKE_ENGINE_PART = 1, CKE_ENGINE_WAITING = 2, CKE_ENGINE_FAILED = -1 };
/* Waits at most wait_ms (negative: for ever) for the next part, and returns one of these numbers. A part is valid until
 * the next call: with "stream": true the JSON of one event, and a text for /generate and a session; otherwise the whole
 * reply, once. */
CKE_ENGINE_API int32_t cke_engine_answer_next(cke_engine_answer*, int32_t wait_ms, const char** part, size_t* bytes,
                                              cke_engine_error*) CKE_ENGINE_NOEXCEPT;
/* An eventfd that can be read once parts may have come; -1: this answer has none, as it is computed by
 * cke_engine_answer_next. It belongs to the answer. */
CKE_ENGINE_API int32_t cke_engine_answer_fd(cke_engine_answer*, cke_engine_error*) CKE_ENGINE_NOEXCEPT;
/* Ends the answer at its next token. */
CKE_ENGINE_API void cke_engine_answer_cancel(cke_engine_answer*) CKE_ENGINE_NOEXCEPT;

enum { CKE_ENGINE_RUNNING = 0, CKE_ENGINE_STOPPED = 1, CKE_ENGINE_TOO_LONG = 2, CKE_ENGINE_CANCELLED = 3 };
/* How an answer of /generate or of a session ended, and its tokens so far. */
typedef struct cke_engine_ending {
  int32_t why;                        /* one of these numbers */
  uint32_t prompt, cached, generated; /* ids; cached: of the prompt, not computed again */
} cke_engine_ending;
CKE_ENGINE_API cke_engine_ending cke_engine_answer_end(const cke_engine_answer*) CKE_ENGINE_NOEXCEPT;
/* Also ends the answer. */
CKE_ENGINE_API void cke_engine_answer_free(cke_engine_answer*) CKE_ENGINE_NOEXCEPT;

/* ---- sessions ------------------------------------------------------------------------------------- */

CKE_ENGINE_API cke_engine_session* cke_engine_session_create(cke_engine*, cke_engine_error*) CKE_ENGINE_NOEXCEPT;
CKE_ENGINE_API cke_engine_session* cke_engine_session_fork(const cke_engine_session*,
                                                           cke_engine_error*) CKE_ENGINE_NOEXCEPT;
CKE_ENGINE_API void cke_engine_session_free(cke_engine_session*) CKE_ENGINE_NOEXCEPT;
/* Appends ids and computes them. */
CKE_ENGINE_API int32_t cke_engine_session_feed(cke_engine_session*, const uint32_t* ids, size_t count,
                                               cke_engine_error*) CKE_ENGINE_NOEXCEPT;
/* The same; `rows` [count][vocab] receives the logits after each id. `room`: floats that it has room for. */
CKE_ENGINE_API int32_t cke_engine_session_feed_all(cke_engine_session*, const uint32_t* ids, size_t count, float* rows,
                                                   size_t room, cke_engine_error*) CKE_ENGINE_NOEXCEPT;
/* Feeds several sessions of one engine in one pass. All are unchanged after an error. */
CKE_ENGINE_API int32_t cke_engine_sessions_feed(const cke_engine_turn* turns, size_t count,
                                                cke_engine_error*) CKE_ENGINE_NOEXCEPT;
/* The logits [vocab] after the last id that was fed; valid while the session is, and changed by each feed. */
CKE_ENGINE_API const float* cke_engine_session_logits(const cke_engine_session*, cke_engine_error*) CKE_ENGINE_NOEXCEPT;
CKE_ENGINE_API uint32_t cke_engine_session_position(const cke_engine_session*) CKE_ENGINE_NOEXCEPT;
/* `take` receives the ids so far. */
CKE_ENGINE_API int32_t cke_engine_session_history(const cke_engine_session*, cke_engine_take_ids take, void* user,
                                                  cke_engine_error*) CKE_ENGINE_NOEXCEPT;
/* Drops everything after `position`, which is at most the session's. */
CKE_ENGINE_API int32_t cke_engine_session_rewind(cke_engine_session*, uint32_t position,
                                                 cke_engine_error*) CKE_ENGINE_NOEXCEPT;
/* Files of `cke run --save-session`. A session that is loaded is at position 0 before. */
CKE_ENGINE_API int32_t cke_engine_session_save(const cke_engine_session*, const char* path,
                                               cke_engine_error*) CKE_ENGINE_NOEXCEPT;
CKE_ENGINE_API int32_t cke_engine_session_load(cke_engine_session*, const char* path,
                                               cke_engine_error*) CKE_ENGINE_NOEXCEPT;
/* Feeds ids, and continues the session's text. `options`: JSON as of /generate, without a prompt. The parts are texts,
 * computed by cke_engine_answer_next. Until the answer has ended or is freed, no other function takes the session, but
 * for _history and _position. Then the session has prompt and answer, as far as the context has room; an answer that is
 * cancelled or freed early may lack its last id. */
CKE_ENGINE_API cke_engine_answer* cke_engine_session_generate(cke_engine_session*, const uint32_t* ids, size_t count,
                                                              const char* options, size_t bytes,
                                                              cke_engine_error*) CKE_ENGINE_NOEXCEPT;

#endif
