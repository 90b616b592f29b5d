// SPDX-License-Identifier: MIT
// exercise.hpp: reads every byte that a parsed file offers; shared with the fuzz targets.
#pragma once

#include <cke/io/gguf.hpp>
#include <cstddef>
#include <memory>
#include <span>

namespace exercise {

using cke::u64;

// A copy that ends where its allocation ends, so that a sanitizer sees the first byte too far.
class exact_copy {
 public:
  exact_copy(const void* data, std::size_t size) : size_(size), bytes_(new std::byte[size]) {
    if (size) std::memcpy(bytes_.get(), data, size);
  }
  operator std::span<const std::byte>() const { return {bytes_.get(), size_}; }

 private:
  std::size_t size_;
  std::unique_ptr<std::byte[]> bytes_;
};

inline u64 all(const cke::io::tensor_index& index) {
  u64 sum = 0;
  for (const auto& t : index.tensors()) {
    for (const std::byte b : t.bytes) sum += static_cast<u64>(b);
    sum += static_cast<u64>(index.find(t.name) == &t) + t.file->name().size();
    index.drop(index.number_of(t.name), t.bytes);
  }
  return sum;
}

template <class T> u64 as(const cke::io::gguf& file, const cke::io::gguf_value& v) {
  try {
    return v.type == cke::io::gguf_type::array ? file.array<T>(v.key).size() : file.get<T>(v.key) != T{};
  } catch (const cke::Error&) { return 0; }
}

inline u64 all(const cke::io::gguf& file) {
  u64 sum = all(file.tensors());
  for (const auto& v : file.values()) {
    sum += cke::io::describe(v).size() + (file.find(v.key) == &v);
    switch (v.item) {
      case cke::io::gguf_type::string: sum += as<std::string_view>(file, v); break;
      case cke::io::gguf_type::boolean: sum += as<bool>(file, v); break;
      case cke::io::gguf_type::float32: sum += as<float>(file, v); break;
      case cke::io::gguf_type::float64: sum += as<double>(file, v); break;
      default: sum += as<cke::i32>(file, v) + as<u64>(file, v);
    }
  }
  return sum;
}

}  // namespace exercise
