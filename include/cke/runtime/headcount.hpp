// SPDX-License-Identifier: MIT
// headcount.hpp: how many threads of a team are worth using now, judged by how long they wait for a cpu.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "../core/types.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// Nanoseconds that the calling thread has been runnable without a cpu since it began; 0 if the system does not report
// it. Allocates nothing.
inline u64 waited_for_cpu(const char* path = "/proc/thread-self/schedstat") {
  char text[96];
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const auto bytes = fd < 0 ? 0 : ::read(fd, text, sizeof text);
  if (fd >= 0) close(fd);
  const char *const end = text + std::max<decltype(bytes)>(bytes, 0),
                    *second = std::find(static_cast<const char*>(text), end, ' ');
  u64 waited = 0;  // "<ns on a cpu> <ns waiting for one> <times>"
  if (second != end) std::from_chars(second + 1, end, waited);
  return waited;
}

// A pass is as fast as its slowest thread: one that shares its cpu with a neighbour holds up all the
// others for milliseconds at a time, and costs more than it contributes. So a team with too few cpus
// (more threads than cores, a busy neighbour, a quota) works with fewer threads, and tries one more
// now and then, less and less often while that fails. Two threads of which one waits half of the time are as
// fast as one; of more threads, fewer lose less by one that waits.
class headcount {
 public:
  static constexpr u64 window = 20'000'000;  // ns of work between two judgements, at least
  // Before one more is tried, the work goes on for so many times the work that had too few cpus.
  static constexpr u32 shortest_pause = 4, longest_pause = 128;

  explicit headcount(u32 most) : most_(most), now_(most) {}
  u32 now() const { return now_; }

  // Over `ran` ns of work, not 0, `used` threads, now() or fewer, waited for cpus `waited` ns in all.
  void judge(u64 ran, u64 waited, u32 used) {
    if (used > 1 && waited > ran / std::min(used, 3u)) {
      now_ = used - static_cast<u32>(std::clamp<u64>(waited / ran, 1, used - 1));
      pause_ = std::clamp(2 * pause_, shortest_pause, longest_pause);
      rest_ = pause_ * ran;
      return;
    }
    rest_ -= std::min(rest_, ran);
    if (rest_ > 0 || used < now_) return;  // work that wanted fewer says nothing about more
    if (now_ < most_) ++now_;
    else pause_ = 0;
  }

 private:
  u32 most_, now_;
  u32 pause_ = 0;  // the last one
  u64 rest_ = 0;   // ns of work that are left of it
};

}  // namespace cke::runtime
CKE_COLD_END
