// SPDX-License-Identifier: MIT
// shards.cpp: see shards.hpp.
#include "shards.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <cke/core/concat.hpp>
#include <cke/core/xxh64.hpp>
#include <cke/io/new_file.hpp>

namespace cke::tool {
namespace {

namespace fs = std::filesystem;

std::string path_of(const std::string& bundle, const manifest::shard& s) {
  return fs::path(bundle).replace_filename(s.name);
}

// Closes what is open while the files are mapped.
struct descriptor {
  int fd;
  ~descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

void map_at(std::byte* at, const std::string& bundle, const manifest::shard& s) {
  const auto fail = [&](std::string_view expected, std::string_view found) {
    throw Error(errc::file, bundle, concat({"its part ", s.name}), expected, found);
  };
  const u64 bytes = s.bytes;
  const descriptor file{::open(path_of(bundle, s).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat is{};
  if (file.fd < 0 || ::fstat(file.fd, &is) != 0)
    fail("a file beside the bundle that can be read", std::strerror(errno));
  if (!S_ISREG(is.st_mode)) fail("a regular file", "something else");
  if (static_cast<u64>(is.st_size) != bytes)
    fail(concat({bytes, " bytes, as the bundle says"}), concat({static_cast<u64>(is.st_size)}));
  if (::mmap(at, bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, file.fd, 0) == MAP_FAILED)
    fail("a file that can be mapped", std::strerror(errno));
}

}  // namespace

std::vector<manifest::shard> shards_of(const std::string& bundle, std::span<const u64> block_sums, u64 bytes,
                                       u64 most) {
  const u64 count = bytes / most + (bytes % most != 0), sum = xxh64::of(std::as_bytes(block_sums));
  std::vector<manifest::shard> all;
  for (u64 n = 0; n < count; ++n) {
    char name[96];
    std::snprintf(name, sizeof name, "-%016llx-%05llu-of-%05llu.cke-part", static_cast<unsigned long long>(sum),
                  static_cast<unsigned long long>(n + 1), static_cast<unsigned long long>(count));
    all.push_back({fs::path(bundle).stem().string() + name, std::min(most, bytes - n * most)});
  }
  return all;
}

void write_shards(const std::string& bundle, std::span<const manifest::shard> shards,
                  std::span<const std::byte> weights) {
  for (const manifest::shard& s : shards) {
    io::new_file to(path_of(bundle, s), s.bytes, io::new_file::existing::replaced);
    to.write(weights.first(s.bytes));
    to.commit();
    weights = weights.subspan(s.bytes);
  }
}

void remove_shards(const std::string& bundle, std::span<const manifest::shard> old,
                   std::span<const manifest::shard> now) {
  std::error_code ignored;
  for (const manifest::shard& s : old)
    if (std::ranges::find(now, s.name, &manifest::shard::name) == now.end()) fs::remove(path_of(bundle, s), ignored);
}

mapped_shards::mapped_shards(const std::string& bundle, std::span<const manifest::shard> shards) {
  u64 bytes = 0;
  for (const manifest::shard& s : shards) bytes += s.bytes;
  // All but the last are whole blocks, so each begins at a page.
  void* const at = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED)
    throw Error(errc::out_of_memory, bundle, "weights", concat({bytes, " bytes of addresses"}), std::strerror(errno));
  bytes_ = {static_cast<std::byte*>(at), bytes};
  u64 begin = 0;
  try {
    for (const manifest::shard& s : shards) map_at(bytes_.data() + begin, bundle, s), begin += s.bytes;
  } catch (...) {
    ::munmap(bytes_.data(), bytes_.size());
    throw;
  }
}
mapped_shards::~mapped_shards() { ::munmap(bytes_.data(), bytes_.size()); }

}  // namespace cke::tool
