// SPDX-License-Identifier: MIT
// gguf_writer.hpp: writes the part of a GGUF file before the tensors' bytes: metadata and tensor positions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "../core/dtype.hpp"
#include "gguf_value.hpp"

CKE_COLD_BEGIN
namespace cke::io {

// A version 3 file is bytes(), then the tensors in the order of add_tensor, each padded to `alignment` bytes.
class gguf_writer {
 public:
  static constexpr u64 alignment = 32;

  // T is bool, u32, i32, u64, float or text. Each key may be added once.
  template <class T> void add(std::string_view key, const T& value) {
    begin(key, type_of<T>);
    put(value);
  }
  // T as above, or std::string.
  template <class T> void add_array(std::string_view key, std::span<const T> items) {
    begin(key, gguf_type::array);
    put(static_cast<u32>(type_of<T>));
    put(u64{items.size()});
    for (const T& item : items) put(item);
  }
  // Copies an entry of another file.
  void add(const gguf_value& v) {
    begin(v.key, v.type);
    if (v.type == gguf_type::array) put(static_cast<u32>(v.item)), put(v.count);
    if (v.type == gguf_type::string) put(u64{v.bytes.size()});
    values_ += detail::characters(v.bytes);
  }

  // The shape is in torch's order. Returns the tensor's size in bytes, without padding.
  u64 add_tensor(std::string_view name, std::span<const u64> shape, dtype type) {
    u64 elements = 1;
    put(name, tensors_);
    put(static_cast<u32>(shape.size()), tensors_);
    for (std::size_t d = shape.size(); d-- > 0; elements *= shape[d]) put(shape[d], tensors_);  // fastest first
    put(static_cast<u32>(type), tensors_);
    put(data_bytes_, tensors_);
    const u64 size = bytes_of(type, elements);
    data_bytes_ += align_up(size, alignment);
    ++tensor_count_;
    return size;
  }

  std::string bytes() const {
    std::string out = "GGUF";
    put(u32{3}, out);
    put(tensor_count_, out);
    put(value_count_, out);
    out += values_;
    out += tensors_;
    out.resize(align_up(out.size(), alignment));
    return out;
  }
  u64 data_bytes() const { return data_bytes_; }

 private:
  template <class T>
  static constexpr gguf_type type_of = [] {
    if constexpr (std::is_same_v<T, bool>) return gguf_type::boolean;
    else if constexpr (std::is_same_v<T, u32>) return gguf_type::uint32;
    else if constexpr (std::is_same_v<T, i32>) return gguf_type::int32;
    else if constexpr (std::is_same_v<T, u64>) return gguf_type::uint64;
    else if constexpr (std::is_same_v<T, float>) return gguf_type::float32;
    else {
      static_assert(std::is_convertible_v<T, std::string_view>,
                    "cke: gguf: a value is written as bool, u32, i32, u64, float or text");
      return gguf_type::string;
    }
  }();

  template <class T> static void put(const T& value, std::string& to) {
    if constexpr (std::is_arithmetic_v<T>) {
      const char* at = reinterpret_cast<const char*>(&value);
      to.append(at, sizeof value);
    } else {
      const std::string_view text = value;
      put(u64{text.size()}, to);
      to += text;
    }
  }
  template <class T> void put(const T& value) { put(value, values_); }
  void begin(std::string_view key, gguf_type type) {
    put(key);
    put(static_cast<u32>(type));
    ++value_count_;
  }

  std::string values_, tensors_;
  u64 value_count_ = 0, tensor_count_ = 0, data_bytes_ = 0;
};

}  // namespace cke::io
CKE_COLD_END
