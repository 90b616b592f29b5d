// SPDX-License-Identifier: MIT
// tensor_source.hpp: where tensors are read from; what reads them knows no file format.
#pragma once

#include <span>
#include <string_view>

#include "dtype.hpp"

CKE_COMPILED_ONCE
namespace cke {

// A tensor of a source, as long as that lives.
struct source_tensor {
  std::string_view name;
  dtype type = dtype::none;  // none: a type that cke cannot compute with
  std::string_view stored;   // the file's name of the type, for messages
  std::span<const u64> shape;
  std::span<const std::byte> bytes;  // of any alignment
};

class tensor_source {
 public:
  static constexpr u64 none = ~u64{0};

  virtual u64 count() const = 0;
  virtual u64 number_of(std::string_view name) const = 0;  // none: there is no such tensor
  virtual source_tensor tensor(u64 number) const = 0;
  // These bytes of a tensor have been read, and their pages of a file may go; they may be read again. Thread-safe.
  virtual void drop(u64 number, std::span<const std::byte> part) const = 0;
  // All of a tensor has been copied, and nothing of it is read again.
  virtual void copied(u64) const {}

 protected:
  tensor_source() = default;
  tensor_source(const tensor_source&) = default;
  tensor_source& operator=(const tensor_source&) = default;
  ~tensor_source() = default;
};

}  // namespace cke
