// SPDX-License-Identifier: MIT
// text.hpp: a string that knows for each byte whether the template or its data wrote it.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "../../core/types.hpp"
#include "../tokenizer/unicode.hpp"

CKE_COMPILED_ONCE
namespace cke::text::jinja {

// A template's author may spell control tokens, a message may not. So every string operation keeps each byte's origin.
enum class origin : char { data, author };

class text {
 public:
  text() = default;
  text(std::string_view bytes, origin from) : bytes_(bytes), origins_(bytes.size(), static_cast<char>(from)) {}

  std::string_view view() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }  // bytes
  bool empty() const { return bytes_.empty(); }

  void append(const text& other) { bytes_ += other.bytes_, origins_ += other.origins_; }
  void append(const text& other, std::size_t at, std::size_t count) {
    bytes_.append(other.bytes_, at, count);
    origins_.append(other.origins_, at, count);
  }
  void append(std::string_view bytes, origin from) {
    bytes_ += bytes;
    origins_.append(bytes.size(), static_cast<char>(from));
  }
  // Appends bytes that replace the byte at `at` of another text: escaped, or in another case.
  void append_as(std::string_view bytes, const text& other, std::size_t at) {
    bytes_ += bytes;
    origins_.append(bytes.size(), other.origins_[at]);
  }
  text substr(std::size_t at, std::size_t count = std::string::npos) const {
    text part;
    part.append(*this, at, count);
    part.markup = markup;
    return part;
  }

  // Calls f(view, origin) for each run of bytes of one origin.
  template <class F> void spans(F f) const {
    for (std::size_t begin = 0, end; begin < size(); begin = end) {
      end = std::min(origins_.find_first_not_of(origins_[begin], begin), size());
      f(view().substr(begin, end - begin), static_cast<origin>(origins_[begin]));
    }
  }

  // Python's Markup: text added to it is escaped for HTML. The filter `safe` creates it.
  bool markup = false;

 private:
  std::string bytes_;
  std::string origins_;  // as long as bytes_
};

// Python counts code points; an invalid byte counts as one.
inline std::size_t code_points(std::string_view s) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < s.size(); ++count) at += code_point_at(s, at).size;
  return count;
}
// The offset of code point number `index`; the size if there are fewer.
inline std::size_t offset_of(std::string_view s, std::size_t index) {
  std::size_t at = 0;
  for (; index > 0 && at < s.size(); --index) at += code_point_at(s, at).size;
  return at;
}

// str.isspace().
inline bool is_python_space(u32 c) {
  return (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
      (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}
// The line ends of str.splitlines().
inline bool is_line_end(u32 c) {
  return (c >= 10 && c <= 13) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

}  // namespace cke::text::jinja
