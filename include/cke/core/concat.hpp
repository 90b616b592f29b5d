// SPDX-License-Identifier: MIT
// concat.hpp: joins texts and whole numbers: concat({"layer ", 7, " of ", name}).
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "types.hpp"

CKE_COLD_BEGIN
namespace cke {

// One piece of a text: another text, which must live until concat returns, or a whole number.
class text_part {
 public:
  text_part(std::string_view text) : text_(text.data()), value_(text.size()) {}
  text_part(const char* text) : text_part(std::string_view(text)) {}
  text_part(const std::string& text) : text_part(std::string_view(text)) {}
  text_part(u64 number) : value_(number), is_(positive) {}
  text_part(u32 number) : text_part(u64{number}) {}
  text_part(i64 number) : value_(static_cast<u64>(number)), is_(number < 0 ? negative : positive) {}
  text_part(i32 number) : text_part(i64{number}) {}
  // Sizes of machines of 32 bits, where they may be a type beside u32.
  template <class Size>
    requires(std::is_same_v<Size, std::size_t> && !std::is_same_v<Size, u32> && !std::is_same_v<Size, u64>)
  text_part(Size number) : text_part(u64{number}) {}
  text_part(char) = delete;  // it would convert to a number
  text_part(bool) = delete;

  void append_to(std::string& out) const {
    if (is_ == letters) out.append(text_, value_);
    else out += is_ == negative ? std::to_string(static_cast<i64>(value_)) : std::to_string(value_);
  }

 private:
  const char* text_ = nullptr;
  u64 value_;  // a text's size, or the number
  enum : u8 { letters, positive, negative } is_ = letters;
};

// One function builds every message. A chain of operator+ would be inlined at each place that reports an error, and
// such places are most of the code that loads a model.
CKE_OUT_OF_LINE inline std::string concat(std::initializer_list<text_part> parts) {
  std::string out;
  for (const text_part& part : parts) part.append_to(out);
  return out;
}

}  // namespace cke
CKE_COLD_END
