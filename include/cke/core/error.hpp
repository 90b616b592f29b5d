// SPDX-License-Identifier: MIT
// error.hpp: the one exception type of the library, and size arithmetic that cannot wrap.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "types.hpp"

CKE_COLD_BEGIN
namespace cke {

enum class errc : u8 {
  file,         // cannot be opened, read or mapped
  malformed,    // the bytes are not in the format that they claim
  unsupported,  // well formed, but cke lacks the feature
  tensor_missing,
  tensor_unknown,  // the file has it, the model does not
  tensor_shape,
  tensor_dtype,
  config_mismatch,  // the file's config differs from the one of the model's type
  config_range,     // a number outside of its permitted range
  token_range,
  context_overflow,
  out_of_memory,
  compile,  // compiling a model on demand failed
  usage,
  unsupported_opcode,  // this and the next three are the runtime contract's errors (mission.md F18)
  unsupported_rank,
  invalid_param_block,
  batch_unsupported,
  cache_full,  // the sessions occupy every page of the model's cache
};

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

// a * b and a + b; false if the result does not fit 64 bits.
constexpr bool checked_mul(u64 a, u64 b, u64& out) { return !__builtin_mul_overflow(a, b, &out); }
constexpr bool checked_add(u64 a, u64 b, u64& out) { return !__builtin_add_overflow(a, b, &out); }
// [offset, offset + size) lies in [0, available)
constexpr bool fits(u64 offset, u64 size, u64 available) { return offset <= available && size <= available - offset; }

}  // namespace cke
CKE_COLD_END
