// SPDX-License-Identifier: MIT
// rank_roll.cpp: see rank_roll.hpp. Each rank holds a name among the abstract sockets, which the system frees when the
// process dies, however it dies. So a name that another rank can take is that of a rank that is missing.
#include "rank_roll.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace cke::tool {
namespace {

constexpr int speaker = -1;  // the name of the rank that calls the roll
int own, here, all;          // this rank's number on this machine; ranks on it; ranks in the job

int number_of(const char* variable) {
  const char* const text = std::getenv(variable);
  return text ? std::atoi(text) : 0;
}

// Whether nobody else has it. This process keeps it.
bool take_name(int rank) {
  sockaddr_un name{AF_UNIX, {}};
  const int size = std::snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "cke/%d/%d", getppid(), rank);
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(size));
  const int held = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return held >= 0 && bind(held, reinterpret_cast<const sockaddr*>(&name), bytes) == 0;
}

void call_roll(int) {
  if (take_name(speaker)) {
    for (int r = 0; r < here; ++r) {
      if (r == own || !take_name(r)) continue;
      char text[80];
      const int size = std::snprintf(text, sizeof text, "cke: %srank %d ended before MPI had started\n",
                                     here < all ? "local " : "", r);
      [[maybe_unused]] const auto written = write(STDERR_FILENO, text, static_cast<std::size_t>(size));
    }
  }
  const timespec until_mpirun_kills{2, 0};  // a name that is given up before would be called
  nanosleep(&until_mpirun_kills, nullptr);
  signal(SIGTERM, SIG_DFL);
  raise(SIGTERM);
}

}  // namespace

void answer_roll_call() {
  all = number_of("OMPI_COMM_WORLD_SIZE");
  if (all < 2) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // its parent is mpirun, or mpirun's daemon on this machine
  own = number_of("OMPI_COMM_WORLD_LOCAL_RANK"), here = number_of("OMPI_COMM_WORLD_LOCAL_SIZE");
  if (take_name(own)) signal(SIGTERM, call_roll);
}
void end_roll_call() { signal(SIGTERM, SIG_DFL); }

}  // namespace cke::tool
