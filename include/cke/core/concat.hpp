// SPDX-License-Identifier: MIT
// concat.hpp: texts and whole numbers put together: concat({"layer ", 7, " of ", name}).
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "types.hpp"

namespace cke {

// What a text is made of: another text, which must live until concat returns, or a whole number.
class text_part {
 public:
  text_part(const char* text) : text_(text) {}
  text_part(std::string_view text) : text_(text) {}
  text_part(const std::string& text) : text_(text) {}
  text_part(u64 number) : number_(number), is_number_(true) {}
  text_part(u32 number) : text_part(u64{number}) {}
  text_part(i64 number) : text_(number < 0 ? "-" : ""), number_(static_cast<u64>(number)), is_number_(true) {
    if (number < 0) number_ = 0 - number_;
  }
  text_part(i32 number) : text_part(i64{number}) {}
  text_part(char) = delete;  // would be a number
  text_part(bool) = delete;

  void append_to(std::string& out) const {
    out += text_;
    if (is_number_) out += std::to_string(number_);
  }

 private:
  std::string_view text_{};  // of a number: its sign
  u64 number_ = 0;
  bool is_number_ = false;
};

// One function for all texts: a chain of operator+ is inlined wherever it stands, and messages are
// what most of the code that loads a model is made of.
CKE_OUT_OF_LINE inline std::string concat(std::initializer_list<text_part> parts) {
  std::string out;
  for (const text_part& part : parts) part.append_to(out);
  return out;
}

}  // namespace cke
