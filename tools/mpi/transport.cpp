// SPDX-License-Identifier: MIT
// transport.cpp: implements transport.h with MPI.
#include "transport.h"

#include <mpi.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <vector>

namespace {

constexpr uint64_t most = uint64_t{1} << 30;  // bytes of one call: MPI counts with int

// Spins at first, as an answer to a pass comes soon; then sleeps, as a user may think for minutes.
void wait_asleep(MPI_Request& request) {
  for (uint32_t tries = 0;; ++tries) {
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done) return;
    if (tries < 2000) {
      sched_yield();
      continue;
    }
    const timespec nap{0, 200'000};
    nanosleep(&nap, nullptr);
  }
}

void broadcast(void* data, uint64_t bytes) {
  for (uint64_t at = 0; at < bytes; at += most) {
    MPI_Request request;
    MPI_Ibcast(static_cast<char*>(data) + at, static_cast<int>(std::min(most, bytes - at)), MPI_BYTE, 0, MPI_COMM_WORLD,
               &request);
    wait_asleep(request);
  }
}

std::vector<uint64_t*> counters;  // of each rank, in memory that the ranks of a machine share

void share_counters(int rank, int count) {
  MPI_Comm near;
  MPI_Win window;
  uint64_t* own = nullptr;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &near);
  MPI_Win_allocate_shared(sizeof *own, sizeof *own, MPI_INFO_NULL, near, &own, &window);
  *own = 0;
  MPI_Group world, of_near;
  MPI_Comm_group(MPI_COMM_WORLD, &world), MPI_Comm_group(near, &of_near);
  counters.resize(static_cast<std::size_t>(count));
  for (int r = 0; r < count; ++r) {
    int there = MPI_UNDEFINED, unit = 0;
    MPI_Aint size = 0;
    MPI_Group_translate_ranks(world, 1, &r, of_near, &there);
    if (there != MPI_UNDEFINED)
      MPI_Win_shared_query(window, there, &size, &unit, &counters[static_cast<std::size_t>(r)]);
  }
  MPI_Barrier(near);
}

void all_gather(void* user, const void* mine, void* all, const uint64_t* bytes) {
  const auto& t = *static_cast<const cke_transport*>(user);
  std::atomic_ref(*counters[t.rank]).fetch_add(1, std::memory_order_release);
  std::vector<int> counts(t.count), places(t.count);
  uint64_t at = 0, own = 0;
  for (uint32_t r = 0; r < t.count; at += bytes[r++]) {
    if (r == t.rank) own = at;
    counts[r] = static_cast<int>(std::min<uint64_t>(bytes[r], INT_MAX));
    places[r] = static_cast<int>(std::min<uint64_t>(at, INT_MAX));
  }
  if (at <= INT_MAX) {
    MPI_Allgatherv(mine, counts[t.rank], MPI_BYTE, all, counts.data(), places.data(), MPI_BYTE, MPI_COMM_WORLD);
    return;
  }
  std::copy_n(static_cast<const char*>(mine), bytes[t.rank], static_cast<char*>(all) + own);
  at = 0;
  for (uint32_t r = 0; r < t.count; ++r)
    for (uint64_t done = 0; done < bytes[r]; at += std::min(most, bytes[r] - done), done += most)
      MPI_Bcast(static_cast<char*>(all) + at, static_cast<int>(std::min(most, bytes[r] - done)), MPI_BYTE,
                static_cast<int>(r), MPI_COMM_WORLD);
}

}  // namespace

const cke_transport* cke_transport_join(const char** why) {
  static cke_transport joined{};
  int level = 0, rank = 0, count = 0;
  // Calls come from whatever thread feeds a session, one at a time.
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS || level < MPI_THREAD_SERIALIZED)
    return *why = "an MPI whose threads may not take turns", nullptr;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  share_counters(rank, count);
  joined = {static_cast<uint32_t>(rank),
            static_cast<uint32_t>(count),
            all_gather,
            broadcast,
            [](uint32_t r) -> const uint64_t* { return counters[r]; },
            [] { MPI_Finalize(); }};
  return &joined;
}
