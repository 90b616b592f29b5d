// SPDX-License-Identifier: MIT
// types.hpp: integer types and the constexpr tools that the rest of cke is written in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "rooms.hpp"

// Forces inlining of hot helpers; one build defines it empty, to debug them.
#ifndef CKE_INLINE
#define CKE_INLINE [[gnu::always_inline]] inline
#endif
// For functions that run once per step or load: keeps one copy, where g++ would clone it for each constant argument.
#ifdef __clang__
#define CKE_OUT_OF_LINE [[gnu::noinline]]
#else
#define CKE_OUT_OF_LINE [[gnu::noinline, gnu::noclone]]
#endif
// Put around a header without hot loops: g++ compiles it at -O1, whatever the user's level.
#if defined(__OPTIMIZE__) && !defined(__clang__)
#define CKE_COLD_OPTIONAL_BEGIN _Pragma("GCC push_options") _Pragma("GCC optimize(\"O1\")")
#define CKE_COLD_END _Pragma("GCC pop_options")
#else
#define CKE_COLD_OPTIONAL_BEGIN
#define CKE_COLD_END
#endif
#define CKE_COLD_BEGIN CKE_COMPILED_ONCE CKE_COLD_OPTIONAL_BEGIN
// In a header whose functions the compiled part has (compiled/). Where CKE_COMPILED is defined, g++ may inline those of
// them that are not templates, but emits none of them, except in the one file that names the implementation "cke".
#if defined(CKE_COMPILED) && !defined(__clang__)
#define CKE_COMPILED_ONCE _Pragma("GCC interface \"cke\"")
#else
#define CKE_COMPILED_ONCE
#endif

// Before a definition in a header named -inl: where CKE_COMPILED is defined, only the compiled part reads those.
#ifdef CKE_COMPILED
#define CKE_ONCE
#else
#define CKE_ONCE inline
#endif

// Where a program has one thread and no files to map: WebAssembly in a browser, or under WASI.
#if defined(__wasm__)
#define CKE_ALONE
#endif

namespace cke {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = unsigned;  // newlib's std::uint32_t is a long one, and 1u another type
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = int;
using i64 = std::int64_t;
static_assert(sizeof(u32) == 4 && sizeof(i32) == 4);

// A real number as a template argument; clang before 18 accepts a double only as the member of a class.
struct real {
  double v{};
  constexpr real() = default;
  template <class T>
    requires std::is_arithmetic_v<T>
  constexpr real(T x) : v(static_cast<double>(x)) {}
  constexpr operator float() const { return static_cast<float>(v); }
  constexpr bool operator==(const real&) const = default;
};

template <std::size_t N> struct fixed_string {
  char text[N]{};
  constexpr fixed_string(const char (&s)[N]) {
    for (std::size_t i = 0; i < N; ++i) text[i] = s[i];
  }
  constexpr explicit fixed_string(std::string_view s) {
    for (std::size_t i = 0; i < s.size(); ++i) text[i] = s[i];
  }
  constexpr operator std::string_view() const { return {text, N - 1}; }
  constexpr bool operator==(const fixed_string&) const = default;
};

// Ends a constant expression, whose error shows the text. At run time, where only a defect leads, it throws the text; a
// program without exceptions stops.
[[noreturn]] inline void constant_error(const char* text) {
#ifdef __cpp_exceptions
  throw text;
#else
  static_cast<void>(text);
  __builtin_trap();
#endif
}

// A vector that a constant expression can return; exceeding the capacity N is a compile error.
template <class T, std::size_t N> struct small_vector {
  T items[N]{};
  u32 count{};
  constexpr u32 push(const T& t) {
    if (count == N) constant_error("cke: small_vector: this lowering needs more room than its capacity");
    items[count] = t;
    return count++;
  }
  constexpr u32 size() const { return count; }
  constexpr T& operator[](std::size_t i) { return items[i]; }
  constexpr const T& operator[](std::size_t i) const { return items[i]; }
  constexpr T* begin() { return items; }
  constexpr T* end() { return items + count; }
  constexpr const T* begin() const { return items; }
  constexpr const T* end() const { return items + count; }
  friend constexpr bool operator==(const small_vector& a, const small_vector& b) {
    for (u32 i = 0; i < a.count && i < b.count; ++i)
      if (!(a[i] == b[i])) return false;
    return a.count == b.count;
  }
};

template <class... Ts> struct list {};

// The I-th type of a pack, found by overload resolution and without recursion.
template <std::size_t I, class T> struct leaf {
  using type = T;
};
template <class Is, class... Ts> struct leaves;
template <std::size_t... I, class... Ts>
struct leaves<std::index_sequence<I...>, Ts...> : leaf<I, Ts>... {};
template <std::size_t I, class T> leaf<I, T> pick(const leaf<I, T>&);

template <std::size_t I, class List> struct nth;
template <std::size_t I, class... Ts> struct nth<I, list<Ts...>> {
  using type = typename decltype(pick<I>(leaves<std::index_sequence_for<Ts...>, Ts...>{}))::type;
};
template <std::size_t I, class List> using at = typename nth<I, List>::type;

template <class List> inline constexpr std::size_t length = 0;
template <class... Ts> inline constexpr std::size_t length<list<Ts...>> = sizeof...(Ts);

constexpr double root(double x) {  // by Newton's method; std::sqrt is constexpr from C++26 on
  double r = x > 1 ? x : 1;
  for (int i = 0; i < 64; ++i) r = 0.5 * (r + x / r);
  return r;
}

constexpr u32 whole_root(u32 x) {  // rounded down
  u32 r = 0;
  while (u64{r + 1} * (r + 1) <= x) ++r;
  return r;
}

constexpr double natural_log(double x) {  // x > 0; ln x = 2 artanh((x - 1) / (x + 1)), near 1
  constexpr double ln2 = 0.693147180559945309417;
  double sum = 0;
  for (; x > 1.5; x /= 2) sum += ln2;
  for (; x < 0.75; x *= 2) sum -= ln2;
  const double y = (x - 1) / (x + 1);
  double power = y;
  for (int i = 1; i < 60; i += 2, power *= y * y) sum += 2 * power / i;
  return sum;
}

constexpr u64 align_up(u64 n, u64 to = 64) { return (n + to - 1) / to * to; }
constexpr u32 ceil_div(u32 n, u32 by) { return (n + by - 1) / by; }

}  // namespace cke
