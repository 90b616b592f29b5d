// SPDX-License-Identifier: MIT
// cpu_count.cpp: container limits, read from made-up file systems.
#include "cke/runtime/cpu_count.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "cke/runtime/arena.hpp"

using namespace cke;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;
namespace fs = std::filesystem;

namespace {

struct fake_root {
  fs::path path;
  explicit fake_root(const char* groups) {
    std::string name = (fs::temp_directory_path() / "cke-root-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()));
    path = name;
    write("proc/self/cgroup", groups);
  }
  ~fake_root() { fs::remove_all(path); }
  void write(const char* file, const std::string& text) const {
    fs::create_directories((path / file).parent_path());
    std::ofstream(path / file) << text << '\n';
  }
};

}  // namespace

TEST_CASE("cpu_count: the default is at least one thread, and no more than the affinity mask allows") {
  CHECK(affinity_cpus() >= 1);
  CHECK(default_threads() >= 1);
  cpu_set_t mine, one;
  REQUIRE(sched_getaffinity(0, sizeof mine, &mine) == 0);
  CHECK(affinity_cpus() == static_cast<u32>(CPU_COUNT(&mine)));
  CPU_ZERO(&one);
  for (u32 cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &mine)) {
      CPU_SET(cpu, &one);
      break;
    }
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(default_threads() == 1);
  sched_setaffinity(0, sizeof mine, &mine);
}

TEST_CASE("cpu_count: the tightest quota of a version 2 cgroup and its parents counts, rounded up") {
  const fake_root root("0::/pod/box");
  CHECK(quota_cpus(root.path) == ~0u);
  root.write("sys/fs/cgroup/pod/box/cpu.max", "max 100000");
  CHECK(quota_cpus(root.path) == ~0u);
  root.write("sys/fs/cgroup/pod/cpu.max", "250000 100000");
  CHECK(quota_cpus(root.path) == 3);
  root.write("sys/fs/cgroup/cpu.max", "5000 100000");
  CHECK(quota_cpus(root.path) == 1);
  for (const char* odd : {"", "7", "x 100000", "100000 0", "-5 100000", "100000 100000x"}) {
    root.write("sys/fs/cgroup/cpu.max", odd);
    CHECK(quota_cpus(root.path) == 3);
  }
}

TEST_CASE("cpu_count: version 1 hierarchies, found by their controller") {
  const fake_root root("12:memory:/a\n4:cpu,cpuacct:/a\n3:cpuset:/other\n0::/");
  root.write("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1");
  root.write("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000");
  CHECK(quota_cpus(root.path) == ~0u);
  root.write("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "400000");
  CHECK(quota_cpus(root.path) == 4);
  root.write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1048576");
  CHECK(memory_limit(root.path) == 1048576);
}

TEST_CASE("cpu_count: memory limits of version 2") {
  const fake_root root("0::/box");
  root.write("sys/fs/cgroup/box/memory.max", "max");
  CHECK(memory_limit(root.path) == memory_limit("/nonexistent"));
  root.write("sys/fs/cgroup/memory.max", "2097152");
  CHECK(memory_limit(root.path) == 2097152);
}
