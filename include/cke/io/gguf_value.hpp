// SPDX-License-Identifier: MIT
// gguf_value.hpp: GGUF's metadata types and their conversion to C++ types.
#pragma once

#include <bit>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "../core/concat.hpp"
#include "../core/types.hpp"

CKE_COLD_BEGIN
namespace cke::io {

static_assert(std::endian::native == std::endian::little, "cke: gguf: the format is little endian");

enum class gguf_type : u32 {
  uint8,
  int8,
  uint16,
  int16,
  uint32,
  int32,
  float32,
  boolean,
  string,
  array,
  uint64,
  int64,
  float64,
};

struct gguf_type_info {
  std::string_view name;
  u32 bytes;  // of one item; 0: each item has its own length
};

inline constexpr gguf_type_info gguf_types[] = {
    {"u8", 1},   {"i8", 1},     {"u16", 2},   {"i16", 2}, {"u32", 4}, {"i32", 4}, {"f32", 4},
    {"bool", 1}, {"string", 0}, {"array", 0}, {"u64", 8}, {"i64", 8}, {"f64", 8},
};
constexpr const gguf_type_info& info(gguf_type t) { return gguf_types[static_cast<u32>(t)]; }

// One metadata entry: a view of the file.
struct gguf_value {
  std::string_view key;
  gguf_type type, item;              // item: the item type of an array, else equal to `type`
  u64 count;                         // items of an array, else 1
  std::span<const std::byte> bytes;  // a scalar's bytes, a string's characters, an array's items
};

namespace detail {

template <class T> T load(const std::byte* p) {
  T x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

inline std::string_view characters(std::span<const std::byte> b) {
  return {reinterpret_cast<const char*>(b.data()), b.size()};
}

// A stored integer of any type: 64 bits, two's complement if negative.
struct gguf_integer {
  u64 bits;
  bool negative;

  bool fits(i64 least, u64 most) const { return negative ? static_cast<i64>(bits) >= least : bits <= most; }
};

// Loads the integer of type t at p into x; returns false if t is not an integer type.
CKE_OUT_OF_LINE inline bool load_integer(gguf_type t, const std::byte* p, gguf_integer& x) {
  const bool is_signed =
      t == gguf_type::int8 || t == gguf_type::int16 || t == gguf_type::int32 || t == gguf_type::int64;
  if (!is_signed && t != gguf_type::uint8 && t != gguf_type::uint16 && t != gguf_type::uint32 && t != gguf_type::uint64)
    return false;
  u64 bits = 0;
  std::memcpy(&bits, p, info(t).bytes);
  const u64 above = 64 - 8 * u64{info(t).bytes}, extended = static_cast<u64>(static_cast<i64>(bits << above) >> above);
  x = {is_signed ? extended : bits, is_signed && extended >> 63 != 0};
  return true;
}

// Integers convert if the value is in range, f32 widens to double, nothing else converts. On false, `out` is unchanged.
template <class T> bool convert(gguf_type t, std::span<const std::byte> bytes, T& out) {
  if constexpr (std::is_same_v<T, std::string_view>) {
    if (t != gguf_type::string) return false;
    out = characters(bytes);
  } else if constexpr (std::is_same_v<T, bool>) {
    if (t != gguf_type::boolean) return false;
    out = load<u8>(bytes.data()) != 0;
  } else if constexpr (std::is_floating_point_v<T>) {
    if (t == gguf_type::float32) out = load<float>(bytes.data());
    else if (t == gguf_type::float64 && std::is_same_v<T, double>) out = load<T>(bytes.data());
    else return false;
  } else {
    using limits = std::numeric_limits<T>;
    gguf_integer x;
    if (!load_integer(t, bytes.data(), x) || !x.fits(static_cast<i64>(limits::min()), static_cast<u64>(limits::max())))
      return false;
    out = static_cast<T>(x.bits);
  }
  return true;
}

// The name of a requested type T in messages.
template <class T>
inline constexpr std::string_view gguf_name = [] {
  if constexpr (std::is_same_v<T, bool>) return "bool";
  else if constexpr (std::is_same_v<T, std::string_view>) return "string";
  else if constexpr (std::is_same_v<T, float>) return "f32";
  else if constexpr (std::is_same_v<T, double>) return "f64";
  else if constexpr (std::is_same_v<T, u32>) return "u32";
  else if constexpr (std::is_same_v<T, i32>) return "i32";
  else if constexpr (std::is_same_v<T, u64>) return "u64";
  else {
    static_assert(std::is_same_v<T, i64>,
                  "cke: gguf: a value is read as bool, u32, i32, u64, i64, "
                  "float, double or std::string_view");
    return "i64";
  }
}();

// `bytes` is a string or one number of type t.
[[gnu::cold]] inline std::string describe(gguf_type t, std::span<const std::byte> bytes) {
  const auto real = [](auto x) {
    char text[32];
    return std::string(text, std::to_chars(text, std::end(text), x).ptr);
  };
  const std::string_view name = info(t).name;
  if (t == gguf_type::string) return concat({"string \"", characters(bytes), "\""});
  if (t == gguf_type::boolean) return load<u8>(bytes.data()) != 0 ? "bool true" : "bool false";
  if (t == gguf_type::float32) return concat({name, " ", real(load<float>(bytes.data()))});
  if (t == gguf_type::float64) return concat({name, " ", real(load<double>(bytes.data()))});
  gguf_integer x{};
  load_integer(t, bytes.data(), x);
  if (x.negative) return concat({name, " ", static_cast<i64>(x.bits)});
  return concat({name, " ", x.bits});
}

}  // namespace detail

// `u32 7`, `string "qwen3"`, `array of 151936 string`. Strings are unescaped, including control characters.
inline std::string describe(const gguf_value& v) {
  if (v.type != gguf_type::array) return detail::describe(v.type, v.bytes);
  return concat({"array of ", v.count, " ", info(v.item).name});
}

}  // namespace cke::io
CKE_COLD_END
