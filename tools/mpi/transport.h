/* SPDX-License-Identifier: MIT */
/* transport.h: what libcke_mpi.so exports: the processes that mpirun has started, for the cke command, which opens it
 * only where there are several. So nothing else of cke needs MPI. */
#ifndef CKE_TRANSPORT_H
#define CKE_TRANSPORT_H

#include <stdint.h>

typedef struct cke_transport {
  uint32_t rank, count;
  /* Each blocks until all ranks have called it. A failure of MPI ends the job with MPI's message. */
  void (*all_gather)(void* user, const void* mine, void* all, const uint64_t* bytes);
  void (*broadcast)(void* data, uint64_t bytes); /* from rank 0; the others wait asleep */
  /* How many all-gathers a rank has entered; null: it is on another machine. */
  const uint64_t* (*entered)(uint32_t rank);
  void (*leave)(void);
} cke_transport;

/* Null: MPI has too little to offer; `why` says what. */
#ifdef __cplusplus
extern "C"
#endif
    __attribute__((visibility("default"))) const cke_transport*
    cke_transport_join(const char** why);

#endif
