// SPDX-License-Identifier: MIT
// npy.hpp: float32 arrays in files of NumPy's.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cke/core/error.hpp>

#include "rooms.hpp"

namespace cke::tool {

// Writes a C-ordered float32 array in NPY version 1, row by row.
class npy_writer {
 public:
  npy_writer(const std::string& path, u64 rows, u64 columns) : path_(path), file_(std::fopen(path.c_str(), "wb")) {
    if (!file_) fail();
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " +
        std::to_string(columns) + "), }";
    header.append(63 - (header.size() + 10) % 64, ' ') += '\n';  // data starts at a multiple of 64
    const char prefix[] = {'\x93',
                           'N',
                           'U',
                           'M',
                           'P',
                           'Y',
                           1,
                           0,
                           static_cast<char>(header.size() & 255),
                           static_cast<char>(header.size() >> 8)};
    write(prefix, sizeof prefix);
    write(header.data(), header.size());
  }
  ~npy_writer() {
    if (file_) std::fclose(file_);
  }
  npy_writer(const npy_writer&) = delete;
  npy_writer& operator=(const npy_writer&) = delete;

  void row(std::span<const float> values) { write(values.data(), values.size_bytes()); }
  void close() {
    if (std::fclose(std::exchange(file_, nullptr))) fail();
  }

 private:
  void write(const void* data, std::size_t bytes) {
    if (std::fwrite(data, 1, bytes, file_) != bytes) fail();
  }
  [[noreturn]] void fail() const {
    throw Error(errc::file, path_, {}, "a file that can be written", std::strerror(errno));
  }

  std::string path_;
  std::FILE* file_;
};

// Adds numbers to the end of a file of npy_writer's, whose header counts them already. Throws Error{file}.
void append_to_npy(const std::string& path, std::span<const float> values);

struct npy_array {
  std::vector<u64> shape;
  std::vector<float> values;
};
// Reads a C-ordered little-endian float32 array. Throws Error: file, malformed, unsupported.
npy_array read_npy(const std::string& path);

}  // namespace cke::tool
