// SPDX-License-Identifier: MIT
// rank_group.cpp: see rank_group.hpp.
#include "rank_group.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <numeric>

#include <cke/core/error.hpp>

#include "own_file.hpp"
#include "rank_watch.hpp"
#include "rooms.hpp"

namespace cke::tool {

rank_group* rank_group::of_this_run() {
  const char* const size = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (!size || std::atoi(size) < 2) return nullptr;
  static rank_group all;
  return &all;
}

rank_group::rank_group() {
  const std::filesystem::path here = own_file().parent_path();
  std::string why;
  for (const std::filesystem::path& path : {here / "libcke_mpi.so", here.parent_path() / "lib/libcke_mpi.so"}) {
    // MPI's own plug-ins look for its symbols among all.
    void* const opened = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!opened) {
      why = dlerror();
      continue;
    }
    library_.reset(opened, [](void*) {});  // MPI leaves handlers behind: it stays until the process ends
    const auto join = reinterpret_cast<decltype(&cke_transport_join)>(dlsym(opened, "cke_transport_join"));
    const char* lacks = "no function cke_transport_join";
    mpi_ = join ? join(&lacks) : nullptr;
    if (!mpi_) throw Error(errc::unsupported, path.string(), "mpirun", "MPI with MPI_THREAD_SERIALIZED", lacks);
    watch_ = std::make_unique<watch_over_ranks>(*mpi_);
    link_ = {mpi_->rank, mpi_->count,
             [](void* user, const void* mine, void* all, const u64* bytes) {
               static_cast<watch_over_ranks*>(user)->all_gather(mine, all, bytes);
             },
             watch_.get()};
    return;
  }
  throw Error(errc::unsupported, {}, "mpirun", "a cke that was built where MPI was (Debian: libopenmpi-dev)", why);
}

rank_group::~rank_group() {
  watch_.reset();
  if (mpi_) mpi_->leave();
}

std::vector<std::string> rank_group::gather(const std::string& mine) const {
  std::vector<u64> sizes(count()), of_sizes(count(), sizeof(u64));
  const u64 size = mine.size();
  const auto all_gather = [&](const void* own, void* to, const u64* bytes) {  // unwatched: compiling takes its time
    mpi_->all_gather(const_cast<cke_transport*>(mpi_), own, to, bytes);
  };
  all_gather(&size, sizes.data(), of_sizes.data());
  std::string all(std::accumulate(sizes.begin(), sizes.end(), u64{}), '\0');
  all_gather(mine.data(), all.data(), sizes.data());
  std::vector<std::string> texts;
  for (u64 at = 0; const u64 n : sizes) texts.push_back(all.substr(at, n)), at += n;
  return texts;
}

void rank_group::broadcast(std::vector<u32>& numbers) const {
  constexpr u32 first = 62;  // most of what is sent fits into one message of 256 bytes
  u32 head[first + 2]{static_cast<u32>(numbers.size())};
  std::copy_n(numbers.begin(), std::min<std::size_t>(numbers.size(), first), head + 1);
  mpi_->broadcast(head, sizeof head);
  if (rank() != 0) numbers.assign(head + 1, head + 1 + std::min(head[0], first)), numbers.resize(head[0]);
  if (numbers.size() > first) mpi_->broadcast(numbers.data() + first, (numbers.size() - first) * sizeof(u32));
}

void rank_group::refuse(const char* what) const {
  throw Error(errc::unsupported, {}, what, "one rank", std::to_string(count()) + " ranks");
}
void rank_group::fail(const std::string& why) const { watch_->fail(why); }

}  // namespace cke::tool
