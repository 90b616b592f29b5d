// SPDX-License-Identifier: MIT
// rank_watch.cpp: see rank_watch.hpp.
#include "rank_watch.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <cke/core/error.hpp>
#include <cke/runtime/clock.hpp>

#include "rank_roll.hpp"
#include "rooms.hpp"

namespace cke::tool {
namespace {

// What a signal handler can see: the ranks on this machine.
struct neighbour {
  u32 rank;
  pid_t process;
};
std::vector<neighbour> neighbours;
std::atomic_flag told;

// Says once that a rank on this machine has ended, if one has, and ends this process.
void tell_who_ended() {
  for (const neighbour& n : neighbours) {
    if (kill(n.process, 0) == 0 || errno != ESRCH || told.test_and_set()) continue;
    char text[96];
    const int size = std::snprintf(text, sizeof text, "cke: rank %u (process %d) has ended before its work was done\n",
                                   n.rank, static_cast<int>(n.process));
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, static_cast<std::size_t>(size));
    _exit(1);
  }
}

// mpirun sends SIGTERM to the ranks that are left.
void on_term(int) {
  tell_who_ended();
  signal(SIGTERM, SIG_DFL);
  raise(SIGTERM);
}

// Whether a signal or a debugger has stopped a process: it may be in the middle of an exchange.
bool is_stopped(pid_t process) {
  std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(stat, text);
  const std::size_t name_end = text.rfind(')');  // "PID (NAME) STATE ..."
  return name_end != text.npos && name_end + 2 < text.size() &&
      (text[name_end + 2] == 'T' || text[name_end + 2] == 't');
}

// Seconds that a rank may keep the others waiting: CKE_RANK_SECONDS, or 60.
u64 limit_ns() {
  const char* const given = std::getenv("CKE_RANK_SECONDS");
  if (!given) return u64{60} * 1'000'000'000;
  char* end = nullptr;
  const unsigned long seconds = std::strtoul(given, &end, 10);
  if (end == given || *end || seconds < 1 || seconds > 86400)
    throw Error(errc::usage, {}, "CKE_RANK_SECONDS", "1 to 86400", given);
  return u64{seconds} * 1'000'000'000;
}

}  // namespace

watch_over_ranks::watch_over_ranks(const cke_transport& mpi) : mpi_(mpi), limit_(limit_ns()) {
  const auto own = static_cast<u64>(getpid());
  std::vector<u64> processes(mpi.count), sizes(mpi.count, sizeof own);
  mpi.all_gather(const_cast<cke_transport*>(&mpi), &own, processes.data(), sizes.data());
  end_roll_call();
  if (mpi.rank != 0) return;
  for (u32 r = 1; r < mpi.count; ++r)
    if (mpi.entered(r)) neighbours.push_back({r, static_cast<pid_t>(processes[r])});
  signal(SIGTERM, on_term);
  watcher_ = std::thread([this] { watch(); });
}
watch_over_ranks::~watch_over_ranks() {
  {
    const std::lock_guard lock(busy_);
    over_ = true;
  }
  ended_.notify_one();
  if (!watcher_.joinable()) return;
  watcher_.join();
  signal(SIGTERM, SIG_DFL);
}

void watch_over_ranks::all_gather(const void* mine, void* all, const u64* bytes) {
  since_ = now_ns();
  mpi_.all_gather(const_cast<cke_transport*>(&mpi_), mine, all, bytes);
  since_ = 0;
}

void watch_over_ranks::watch() {
  for (std::unique_lock lock(busy_); !over_;) {
    ended_.wait_for(lock, std::chrono::milliseconds(200));
    const u64 since = since_;
    if (over_ || since == 0) continue;
    tell_who_ended();
    if (now_ns() - since > limit_ && since == since_)
      fail("waited for more than " + std::to_string(limit_ / 1'000'000'000) + " s for " + missing());
  }
}

// The ranks on this machine that the others wait for: those that are stopped, or else those that came to the fewest
// all-gathers, fewer than rank 0. A rank may be behind because it waits for one of them itself.
std::string watch_over_ranks::missing() const {
  const auto entered = [&](u32 r) { return __atomic_load_n(mpi_.entered(r), __ATOMIC_ACQUIRE); };
  u64 fewest = entered(0);
  for (const neighbour& n : neighbours) fewest = std::min<u64>(fewest, entered(n.rank));
  const bool stopped = std::ranges::any_of(neighbours, is_stopped, &neighbour::process);
  std::string all;
  for (const neighbour& n : neighbours)
    if (stopped ? is_stopped(n.process) : fewest < entered(0) && entered(n.rank) == fewest)
      all +=
          (all.empty() ? "rank " : ", rank ") + std::to_string(n.rank) + " (process " + std::to_string(n.process) + ")";
  if (!all.empty()) return all;
  return neighbours.size() + 1 < mpi_.count ? "a rank on another machine" : "an exchange that all ranks have come to";
}

void watch_over_ranks::fail(const std::string& why) const {
  if (!told.test_and_set()) std::fprintf(stderr, "cke: rank %u: %s\n", mpi_.rank, why.c_str());
  std::_Exit(1);
}

}  // namespace cke::tool
