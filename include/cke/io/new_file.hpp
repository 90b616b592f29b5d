// SPDX-License-Identifier: MIT
// new_file.hpp: a file that appears under its name only once it is complete.
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "../core/concat.hpp"
#include "../core/error.hpp"

CKE_COLD_BEGIN
namespace cke::io {

// A file that may not replace another has no name at all until it is committed, where the file system can do that: the
// kernel removes it whatever becomes of the process. Else it has a temporary name in the same folder, which the
// destructor removes. Throws Error{file} if the name exists and may not be replaced, the folder is missing or not
// writable, or the disk is full.
class new_file {
 public:
  enum class existing : u8 { kept, replaced };

  // Reserves all `size` bytes, so that a full disk is detected before the work.
  new_file(std::string path, u64 size, existing old = existing::kept) : path_(std::move(path)), old_(old) {
    struct stat st{};
    const bool taken = ::lstat(path_.c_str(), &st) == 0;
    if (taken && old == existing::replaced && !S_ISREG(st.st_mode))
      fail("a file, or nothing, to be replaced", "something else");
    if (taken && old == existing::kept) fail("a name that is free", "a file: remove it first");
    if (old == existing::kept && ::access("/proc/self/fd", X_OK) == 0)
      fd_ = ::open(folder().c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
    nameless_ = fd_ >= 0;
    // A process that was killed, of the same number, may have left such a file: in a container all are number 1.
    for (u64 n = 0; fd_ < 0 && (n == 0 || errno == EEXIST); ++n) {
      partial_ = concat({path_, ".partial-", static_cast<u64>(::getpid()), "-", n});
      fd_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    if (fd_ < 0) fail("a file that can be written", std::strerror(errno));
    if (size && ::fallocate(fd_, 0, 0, static_cast<off_t>(size)) != 0 && errno != EOPNOTSUPP && errno != EINVAL &&
        errno != ENOSYS)
      abandon(errno);
  }
  ~new_file() { close(); }
  new_file(const new_file&) = delete;
  new_file& operator=(const new_file&) = delete;

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ::ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) abandon(n < 0 ? errno : ENOSPC);
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
  }

  // Gives the file its final name after its bytes have reached the disk.
  void commit() {
    if (::fsync(fd_) != 0) abandon(errno);
    if (nameless_) {
      const std::string self = concat({"/proc/self/fd/", static_cast<u64>(fd_)});
      if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) != 0) abandon(errno);
    } else if (old_ == existing::replaced) {
      if (::rename(partial_.c_str(), path_.c_str()) != 0) abandon(errno);
    } else if (::renameat2(AT_FDCWD, partial_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) != 0) {
      // Not every file system supports a rename that refuses to replace.
      if (errno != EINVAL || ::access(path_.c_str(), F_OK) == 0) abandon(errno == EINVAL ? EEXIST : errno);
      if (::rename(partial_.c_str(), path_.c_str()) != 0) abandon(errno);
    }
    ::close(std::exchange(fd_, -1));
    sync_folder();
  }

 private:
  [[noreturn]] void fail(std::string_view expected, std::string_view found) const {
    throw Error(errc::file, path_, {}, expected, found);
  }
  [[noreturn]] void abandon(int why) {
    close();
    fail("a file that can be written", std::strerror(why));
  }
  std::string folder() const {
    const std::size_t slash = path_.rfind('/');
    return slash == path_.npos ? "." : path_.substr(0, slash + 1);
  }
  // Makes the name durable too. Not every file system supports this.
  void sync_folder() const {
    if (const int fd = ::open(folder().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); fd >= 0) ::fsync(fd), ::close(fd);
  }
  void close() {
    if (fd_ < 0) return;
    ::close(std::exchange(fd_, -1));
    if (!nameless_) ::unlink(partial_.c_str());
  }

  std::string path_, partial_;
  existing old_;
  int fd_ = -1;
  bool nameless_ = false;
};

}  // namespace cke::io
CKE_COLD_END
