// SPDX-License-Identifier: MIT
// fault.hpp: exceptions as cke_engine_error; none leaves a C function.
#pragma once

#include <cke/cke_engine.h>

#include <exception>
#include <new>

#include <cke/serve/api_error.hpp>

#include "error_parts.hpp"
#include "rooms.hpp"

namespace cke::tool {

inline constexpr int32_t failed_answer = 255;  // an answer that failed among others: its message is all that is known

// Copies as much as fits, up to the beginning of a character.
template <std::size_t N> void copy_text(char (&to)[N], std::string_view from) {
  std::size_t n = std::min(from.size(), N - 1);
  while (n < from.size() && n > 0 && (static_cast<unsigned char>(from[n]) & 0xc0) == 0x80) --n;
  from.copy(to, n);
  to[n] = 0;
}

inline void report(cke_engine_error* to, const Error& e, int32_t code = 0) {
  if (!to) return;
  *to = {};
  to->code = code ? code : 1 + static_cast<int32_t>(e.code);
  copy_text(to->message, e.what());
  copy_text(to->file, e.file), copy_text(to->subject, e.subject);
  copy_text(to->expected, e.expected), copy_text(to->found, e.found);
}
inline void report(cke_engine_error* to, const serve::api_error& e) {
  const errc code = e.code == "context_length_exceeded" ? errc::context_overflow
      : e.status == 429                                 ? errc::cache_full
                                                        : errc::usage;
  const Error parts = parted_error(code, e.what());
  report(to, parts);
  if (!to) return;
  if (!e.param.empty()) copy_text(to->subject, e.param);
  else if (parts.expected.empty()) to->subject[0] = 0;
}

// An answer failed among others, of which the scheduler kept the message.
struct answer_failure {
  std::string message;
};

// f(), whose exceptions become `error`, and the result then `failure`.
template <class T, class F> T caught(cke_engine_error* error, T failure, F f) noexcept {
  if (error) *error = {};
  try {
    return f();
  } catch (const Error& e) { report(error, e); } catch (const serve::api_error& e) {
    report(error, e);
  } catch (const answer_failure& e) {
    report(error, parted_error(errc::usage, e.message), failed_answer);
  } catch (const std::bad_alloc&) {
    report(error, {errc::out_of_memory, {}, {}, "enough memory", "too little"});
  } catch (const std::exception& e) { report(error, {errc::usage, {}, e.what(), {}}, failed_answer); } catch (...) {
    report(error, {errc::usage, {}, "an unknown exception", {}}, failed_answer);
  }
  return failure;
}
// The same for functions that return a code.
template <class F> int32_t status_of(cke_engine_error* error, F f) noexcept {
  return caught<int32_t>(error, -1, [&] { return f(), 0; });
}

inline void need(const void* pointer, const char* name) {
  if (!pointer) throw Error(errc::usage, {}, name, "a pointer", "null");
}
template <class T> std::span<const T> span_of(const T* data, std::size_t count, const char* name) {
  if (count > 0) need(data, name);
  return {data, count};
}

}  // namespace cke::tool
