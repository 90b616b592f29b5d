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

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace cke::tool {
namespace {

constexpr int roll_caller = -1;       // the name of the rank that calls the roll
int own_rank, ranks_here, all_ranks;  // this rank's number on this machine; ranks on it; ranks in the job

int number_of(const char* variable) {
  const char* const text = std::getenv(variable);
  return text ? std::atoi(text) : 0;
}

// A line in memory of its own, as a signal handler may write it: neither allocates nor locks.
template <std::size_t Size> class short_line {
 public:
  short_line& operator<<(const char* text) {
    const std::size_t bytes = std::min(std::strlen(text), Size - size_);
    std::memcpy(text_ + size_, text, bytes);
    return size_ += bytes, *this;
  }
  short_line& operator<<(int number) {
    size_ = static_cast<std::size_t>(std::to_chars(text_ + size_, text_ + Size, number).ptr - text_);
    return *this;
  }
  const char* data() const { return text_; }
  std::size_t size() const { return size_; }

 private:
  char text_[Size];
  std::size_t size_ = 0;
};

// Whether no other process has it. This process keeps it.
bool take_name(int rank) {
  short_line<40> text;
  text << "cke/" << getppid() << "/" << rank;
  sockaddr_un name{AF_UNIX, {}};  // an abstract name begins with a zero byte
  std::memcpy(name.sun_path + 1, text.data(), text.size());
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  const int held = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return held >= 0 && bind(held, reinterpret_cast<const sockaddr*>(&name), bytes) == 0;
}

void call_roll(int) {
  if (take_name(roll_caller)) {
    for (int r = 0; r < ranks_here; ++r) {
      if (r == own_rank || !take_name(r)) continue;
      short_line<80> text;
      text << "cke: " << (ranks_here < all_ranks ? "local " : "") << "rank " << r << " ended before MPI had started\n";
      [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
    }
  }
  const timespec until_mpirun_kills{2, 0};  // a name that is given up before would be called
  nanosleep(&until_mpirun_kills, nullptr);
  signal(SIGTERM, SIG_DFL);
  raise(SIGTERM);
}

}  // namespace

void answer_roll_call() {
  all_ranks = number_of("OMPI_COMM_WORLD_SIZE");
  if (all_ranks < 2) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // its parent is mpirun, or mpirun's daemon on this machine
  own_rank = number_of("OMPI_COMM_WORLD_LOCAL_RANK"), ranks_here = number_of("OMPI_COMM_WORLD_LOCAL_SIZE");
  if (take_name(own_rank)) signal(SIGTERM, call_roll);
}
void end_roll_call() { signal(SIGTERM, SIG_DFL); }

}  // namespace cke::tool
