// SPDX-License-Identifier: MIT
// error.hpp: the one exception type of the library.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "errc.hpp"

CKE_COLD_BEGIN
namespace cke {

// what(): "FILE: SUBJECT: expected EXPECTED, found FOUND"; absent parts are left out.
struct Error : std::runtime_error {
  errc code;
  std::string file, subject, expected, found;

  // Out of line and taking views, so that a throw costs its call site only the arguments.
  [[gnu::cold, gnu::noinline]] Error(errc c, std::string_view in, std::string_view about, std::string_view want,
                                     std::string_view got = {})
      : std::runtime_error(message(in, about, want, got)),
        code(c),
        file(in),
        subject(about),
        expected(want),
        found(got) {}

 private:
  static constexpr std::size_t most_shown = 600;  // characters of a name or a list
  // Names come from untrusted files: control characters must not reach a terminal, and length is bounded.
  static void append_clean(std::string& out, std::string_view s) {
    for (const char c : s.substr(0, most_shown)) out += static_cast<unsigned char>(c) < 32 || c == 127 ? '?' : c;
    if (s.size() > most_shown) out += "...";
  }
  static std::string message(std::string_view in, std::string_view about, std::string_view want, std::string_view got) {
    std::string s;
    append_clean(s, in);
    if (!about.empty()) append_clean(s += s.empty() ? "" : ": ", about);
    if (!want.empty()) {
      s += s.empty() ? "" : ": ";
      append_clean(s += got.empty() ? "" : "expected ", want);
    }
    if (!got.empty()) append_clean(s += ", found ", got);
    return s;
  }
};

}  // namespace cke
CKE_COLD_END
