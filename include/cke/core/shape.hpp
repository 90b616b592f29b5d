// SPDX-License-Identifier: MIT
// shape.hpp: the shape of a tensor in a file.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string>

#include "concat.hpp"

CKE_COLD_BEGIN
namespace cke {

// In torch's order: slowest dimension first, a matrix is (rows, columns). Readers refuse more than `most` dimensions.
class tensor_shape {
 public:
  static constexpr u32 most = 8;

  tensor_shape() = default;
  tensor_shape(std::initializer_list<u64> sizes) : tensor_shape(sizes.begin(), sizes.end()) {}
  tensor_shape(const u64* first, const u64* last) : rank_(static_cast<u32>(last - first)) {
    std::copy(first, last, sizes_);
  }

  u32 size() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  void resize(u32 rank) { rank_ = rank; }  // at most `most`
  void push_back(u64 size) { sizes_[rank_++] = size; }
  u64& operator[](std::size_t d) { return sizes_[d]; }
  u64 operator[](std::size_t d) const { return sizes_[d]; }
  u64 back() const { return sizes_[rank_ - 1]; }
  const u64* data() const { return sizes_; }
  const u64* begin() const { return sizes_; }
  const u64* end() const { return sizes_ + rank_; }
  friend bool operator==(const tensor_shape& a, const tensor_shape& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  u64 sizes_[most]{};
  u32 rank_ = 0;
};

// For messages: "[2, 3]".
CKE_OUT_OF_LINE inline std::string shape_text(std::span<const u64> shape) {
  std::string text = "[";
  for (const u64 n : shape) text = concat({text, text.size() > 1 ? ", " : "", n});
  return text += "]";
}

}  // namespace cke
CKE_COLD_END
