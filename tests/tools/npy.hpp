// SPDX-License-Identifier: MIT
// npy.hpp: reads the logits that the command wrote.
#pragma once

#include <cstdio>
#include <cstring>

#include "command.hpp"

namespace command {

// A matrix of float32.
struct npy {
  std::size_t rows = 0, columns = 0;
  std::vector<float> values;
  explicit npy(const fs::path& path) {
    const std::string bytes = content(path);
    REQUIRE(bytes.starts_with("\x93NUMPY\x01"));
    const std::size_t begin = 10 + static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]);
    CHECK(begin % 64 == 0);
    REQUIRE(bytes.find("'descr': '<f4', 'fortran_order': False") < begin);
    REQUIRE(std::sscanf(bytes.c_str() + bytes.find("'shape': (") + 10, "%zu, %zu)", &rows, &columns) == 2);
    REQUIRE(bytes.size() == begin + rows * columns * sizeof(float));
    values.resize(rows * columns);
    std::memcpy(values.data(), bytes.data() + begin, bytes.size() - begin);
  }
};

}  // namespace command
