// SPDX-License-Identifier: MIT
// gguf_cursor.hpp: a bounds-checked forward reader for the bytes of a GGUF file.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "../core/concat.hpp"
#include "../core/error.hpp"
#include "gguf_value.hpp"

CKE_COLD_BEGIN
namespace cke::io::detail {

// Checks each step against the bytes that are left. Throws Error{errc::malformed}.
struct gguf_cursor {
  std::span<const std::byte> bytes;
  std::string_view file;
  u64 at = 0;

  u64 left() const { return bytes.size() - at; }

  // Names what is being read; the two parts are joined only for an error.
  struct subject {
    std::string_view kind, name{};
  };
  [[noreturn]] void fail(subject what, std::string_view expected, std::string_view found) const {
    throw Error(errc::malformed, file, concat({what.kind, what.name.substr(0, 300)}), expected, found);
  }

  std::span<const std::byte> take(u64 n, subject what) {
    if (n > left())
      fail(what, concat({n, " bytes at byte ", at}), concat({left(), " bytes before the end of the file"}));
    return bytes.subspan(std::exchange(at, at + n), n);
  }
  template <class T> T number(subject what) { return load<T>(take(sizeof(T), what).data()); }
  std::span<const std::byte> text(subject what) { return take(number<u64>(what), what); }

  // Reads a count of items of at least `each` bytes; the bytes left bound it, so a loop or vector may use it.
  u64 count(u64 each, subject what) {
    const u64 n = number<u64>(what);
    if (n > left() / each)
      fail(what, concat({"at most ", left() / each, " items in the bytes that are left"}), concat({n}));
    return n;
  }

  gguf_type type(subject what) {
    const u32 t = number<u32>(what);
    if (t >= std::size(gguf_types)) fail(what, "a metadata type from 0 to 12", concat({t}));
    return static_cast<gguf_type>(t);
  }

  // Reads a value of any type; `depth` counts the enclosing arrays.
  gguf_value value(std::string_view key, gguf_type type_of_value, int depth = 0) {
    const subject what{"key ", key};
    gguf_value v{key, type_of_value, type_of_value, 1, {}};
    if (v.type == gguf_type::string) {
      v.bytes = text(what);
    } else if (v.type == gguf_type::array) {
      if (depth == 4) fail(what, "arrays nested at most 4 deep", "a deeper one");
      v.item = type(what);
      const u64 each = v.item == gguf_type::string ? 8 : v.item == gguf_type::array ? 12 : info(v.item).bytes;
      v.count = count(each, what);
      const u64 start = at;
      if (info(v.item).bytes) {
        numbers(v.item, v.count, what);
      } else {
        for (u64 i = 0; i < v.count; ++i) value(key, v.item, depth + 1);
      }
      v.bytes = bytes.subspan(start, at - start);
    } else {
      v.bytes = numbers(v.type, 1, what);
    }
    return v;
  }

 private:
  // count() has bounded `n`, so the product cannot wrap.
  std::span<const std::byte> numbers(gguf_type t, u64 n, subject what) {
    const auto items = take(n * info(t).bytes, what);
    if (t == gguf_type::boolean)
      for (const std::byte b : items)
        if (b > std::byte{1}) fail(what, "a bool of 0 or 1", concat({std::to_integer<u32>(b)}));
    return items;
  }
};

}  // namespace cke::io::detail
CKE_COLD_END
