// SPDX-License-Identifier: MIT
// probe.cpp: counts and slows the exchanges of a rank through MPI's profiling interface. To be preloaded
// (LD_PRELOAD=libcke_mpi_probe.so):
//   CKE_PROBE=FILE     at its end rank R writes FILE.R: all-gathers, bytes that it sent in them, seconds that they took
//   CKE_PROBE_US=N     every all-gather begins N microseconds later, as if the link were that much longer
// Without it nothing is counted.
#include <mpi.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

unsigned long long all_gathers, bytes_sent;
double seconds_taken;

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double added_seconds() {
  const char* const given = std::getenv("CKE_PROBE_US");
  return given ? 1e-6 * std::atof(given) : 0;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" int MPI_Allgatherv(const void* sent, int count, MPI_Datatype type, void* received, const int* counts,
                              const int* places, MPI_Datatype to, MPI_Comm on) {
  static const double added = added_seconds();
  const double begin = now();
  while (now() - begin < added) {}
  const int result = PMPI_Allgatherv(sent, count, type, received, counts, places, to, on);
  int size = 0;
  PMPI_Type_size(type, &size);
  ++all_gathers, bytes_sent += static_cast<unsigned long long>(count) * static_cast<unsigned>(size);
  seconds_taken += now() - begin;
  return result;
}

extern "C" int MPI_Finalize() {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (const char* const path = std::getenv("CKE_PROBE"))
    if (std::FILE* const file = std::fopen((std::string(path) + '.' + std::to_string(rank)).c_str(), "w")) {
      std::fprintf(file, "%llu %llu %.9f\n", all_gathers, bytes_sent, seconds_taken);
      std::fclose(file);
    }
  return PMPI_Finalize();
}
#pragma GCC visibility pop
