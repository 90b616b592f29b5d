// SPDX-License-Identifier: MIT
// plain_list.hpp: a vector of trivially copyable values that is cheap to compile.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <new>
#include <type_traits>
#include <utility>

#include "types.hpp"

CKE_COLD_BEGIN
namespace cke {
namespace detail {

// A growable byte buffer: the part of plain_list that does not depend on its type.
class plain_bytes {
 public:
  plain_bytes() = default;
  plain_bytes(const plain_bytes& other) { append(other.data_, other.used_); }
  plain_bytes(plain_bytes&& other) noexcept { swap(other); }
  plain_bytes& operator=(const plain_bytes& other) {  // allocates only if `other` exceeds the capacity
    if (this == &other) return *this;
    used_ = 0;
    append(other.data_, other.used_);
    return *this;
  }
  plain_bytes& operator=(plain_bytes&& other) noexcept {
    swap(other);
    return *this;
  }
  ~plain_bytes() { ::operator delete(data_); }

  std::byte* data() const { return data_; }
  u64 used() const { return used_; }
  void reserve(u64 bytes) {
    if (bytes > room_) grow(bytes);
  }
  void use(u64 bytes) {  // new bytes are not initialised
    reserve(bytes);
    used_ = bytes;
  }
  void append(const void* from, u64 bytes) {
    const u64 before = used_;
    use(before + bytes);
    if (bytes > 0) std::memcpy(data_ + before, from, bytes);
  }

 private:
  CKE_OUT_OF_LINE void grow(u64 bytes) {
    const u64 room = std::max(bytes, 2 * room_);
    if constexpr (sizeof(std::size_t) < sizeof(u64))
      if (room > ~std::size_t{}) throw std::bad_alloc();
    auto* const data = static_cast<std::byte*>(::operator new(room));
    if (used_ > 0) std::memcpy(data, data_, used_);
    ::operator delete(data_);
    data_ = data, room_ = room;
  }
  void swap(plain_bytes& o) noexcept {
    std::swap(data_, o.data_), std::swap(used_, o.used_), std::swap(room_, o.room_);
  }

  std::byte* data_ = nullptr;
  u64 used_ = 0, room_ = 0;
};

}  // namespace detail

// Replaces std::vector for trivially copyable T: a std::vector instantiates 60 to 80 functions for each T, this a
// dozen. Its iterators are pointers, so algorithms are not instantiated again.
template <class T> class plain_list {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

 public:
  plain_list() = default;
  explicit plain_list(u64 n, T value = {}) { resize(n, value); }
  plain_list(std::initializer_list<T> values) { bytes_.append(values.begin(), values.size() * sizeof(T)); }

  u64 size() const { return bytes_.used() / sizeof(T); }
  bool empty() const { return bytes_.used() == 0; }
  T* data() { return reinterpret_cast<T*>(bytes_.data()); }
  const T* data() const { return reinterpret_cast<const T*>(bytes_.data()); }
  T* begin() { return data(); }
  T* end() { return data() + size(); }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size(); }
  T& operator[](u64 i) { return data()[i]; }
  const T& operator[](u64 i) const { return data()[i]; }
  T& front() { return data()[0]; }
  const T& front() const { return data()[0]; }
  T& back() { return end()[-1]; }
  const T& back() const { return end()[-1]; }

  void reserve(u64 n) { bytes_.reserve(n * sizeof(T)); }
  void clear() { bytes_.use(0); }
  void push_back(T value) { bytes_.append(&value, sizeof(T)); }
  void cut(const T* at) { bytes_.use(static_cast<u64>(at - data()) * sizeof(T)); }  // removes the elements from `at` on
  void pop_back() { bytes_.use(bytes_.used() - sizeof(T)); }
  void resize(u64 n, T value = {}) {
    const u64 before = size();
    bytes_.use(n * sizeof(T));
    for (u64 i = before; i < n; ++i) data()[i] = value;
  }

  friend bool operator==(const plain_list& a, const plain_list& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  detail::plain_bytes bytes_;
};

}  // namespace cke
CKE_COLD_END
