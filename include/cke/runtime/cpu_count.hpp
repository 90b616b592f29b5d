// SPDX-License-Identifier: MIT
// cpu_count.hpp: the number of cpus that this process may use, by its affinity and its cgroup's quota.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "cgroup.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// Cpus in the affinity mask; at least 1.
inline u32 affinity_cpus() {
  for (std::size_t cpus = 1024; cpus <= 1u << 16; cpus *= 4) {  // the kernel's mask may be larger than cpu_set_t
    cpu_set_t* set = CPU_ALLOC(cpus);
    if (!set) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(cpus);
    const bool known = sched_getaffinity(0, bytes, set) == 0;
    const bool too_small = !known && errno == EINVAL;
    const int count = known ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) return static_cast<u32>(count);
    if (!too_small) break;
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

// Cpus' worth of time that the cgroup quota (version 1 or 2) grants, rounded up; ~0 without one.
inline u32 quota_cpus(const std::string& root = {}) {
  u32 least = ~0u;
  const auto take = [&](std::string_view quota, std::string_view period) {
    const auto q = cgroup_number(quota), p = cgroup_number(period);
    if (!q || !p || *p == 0) return;
    const u64 cpus = std::max<u64>(1, *q / *p + (*q % *p != 0));
    least = static_cast<u32>(std::min<u64>(least, cpus));
  };
  for (const std::string& line : cgroup_lines("", "cpu.max", root))  // "150000 100000" or "max 100000"
    if (const auto space = line.find(' '); space != std::string::npos)
      take(std::string_view(line).substr(0, space), std::string_view(line).substr(space + 1));
  const auto quotas = cgroup_lines("cpu", "cpu.cfs_quota_us", root);
  const auto periods = cgroup_lines("cpu", "cpu.cfs_period_us", root);
  for (std::size_t i = 0; i < std::min(quotas.size(), periods.size()); ++i) take(quotas[i], periods[i]);
  return least;
}

// The default number of threads of a team.
inline u32 default_threads() { return std::min(affinity_cpus(), quota_cpus()); }

}  // namespace cke::runtime
CKE_COLD_END
