// SPDX-License-Identifier: MIT
// mapped_file.hpp: maps a file into read-only memory.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "../core/error.hpp"
#include "file_pages.hpp"

CKE_COLD_BEGIN
namespace cke::io {

// The bytes of a regular, non-empty file, mapped privately and released with the object. The mapping has the file's
// length at opening. If another process shortens the file later, touching a lost page raises SIGBUS: do not overwrite a
// file in place while it is in use.
class mapped_file {
 public:
  // Throws Error{errc::file} if the path is missing, not readable, not a regular file, or empty.
  explicit mapped_file(std::string path) : name_(std::move(path)) {
    // O_NONBLOCK makes opening a pipe without a writer an error instead of a hang.
    const int fd = ::open(name_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) fail("a readable file", std::strerror(errno));
    const descriptor closer{fd};
    struct stat st{};
    if (::fstat(fd, &st) != 0) fail("a readable file", std::strerror(errno));
    if (S_ISDIR(st.st_mode)) fail("a file", "a directory");
    if (!S_ISREG(st.st_mode)) fail("a regular file", "a device, pipe or socket");
    if (st.st_size <= 0) fail("a file with content", "an empty file");
    const auto size = static_cast<u64>(st.st_size);
    bytes_ = file_pages::map(fd, size);
    if (bytes_.empty()) fail("a file that can be mapped", std::strerror(errno));
  }

  // The owner of lent bytes may be told which of them have been read, and which are not read again.
  struct lender {
    void (*read)(void* user, const void* data, std::uint64_t bytes);
    void (*copied)(void* user, const void* data, std::uint64_t bytes);
    void* user;
  };
  // Bytes in memory under the name of a file. The caller keeps owning them.
  mapped_file(std::string name, std::span<const std::byte> lent, lender by = {})
      : name_(std::move(name)), bytes_(lent), lent_(true), by_(by) {}

  mapped_file(mapped_file&& other) noexcept
      : name_(std::move(other.name_)), bytes_(std::exchange(other.bytes_, {})), lent_(other.lent_), by_(other.by_) {}
  mapped_file& operator=(mapped_file&& other) noexcept {
    std::swap(name_, other.name_);
    std::swap(bytes_, other.bytes_);
    std::swap(lent_, other.lent_);
    std::swap(by_, other.by_);
    return *this;
  }
  ~mapped_file() {
    if (!lent_ && !bytes_.empty()) file_pages::unmap(bytes_);
  }

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::string& name() const { return name_; }

  // Releases the pages that lie wholly inside a part of bytes(), after a loader has copied it elsewhere. Reading them
  // again is allowed and reads the file again. For lent bytes this only notifies the owner.
  void drop(std::span<const std::byte> part) const {
    if (by_.read) by_.read(by_.user, part.data(), part.size());
    const u64 offset = reinterpret_cast<std::uintptr_t>(part.data()) - reinterpret_cast<std::uintptr_t>(bytes_.data());
    if (!lent_ && fits(offset, part.size(), bytes_.size())) file_pages::drop(bytes_, offset, part.size());
  }
  // Tells the owner of lent bytes that a part of them is not read again.
  void copied(std::span<const std::byte> part) const {
    if (by_.copied) by_.copied(by_.user, part.data(), part.size());
  }

 private:
  struct descriptor {
    int fd;
    ~descriptor() { ::close(fd); }
  };

  [[noreturn]] void fail(const char* expected, const char* found) const {
    throw Error(errc::file, name_, "", expected, found);
  }

  std::string name_;
  std::span<const std::byte> bytes_;
  bool lent_ = false;
  lender by_{};
};

}  // namespace cke::io
CKE_COLD_END
