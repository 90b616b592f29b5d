// SPDX-License-Identifier: MIT
#include <cke/io/gguf_value.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <optional>

namespace {

using cke::io::gguf_type;

// convert<To> of a number that is stored as it is here.
template <class To, class From> std::optional<To> convert(From x) {
  constexpr gguf_type type = std::is_same_v<From, cke::u8> ? gguf_type::uint8
      : std::is_same_v<From, cke::i8>                      ? gguf_type::int8
      : std::is_same_v<From, cke::u16>                     ? gguf_type::uint16
      : std::is_same_v<From, std::int16_t>                 ? gguf_type::int16
      : std::is_same_v<From, cke::u32>                     ? gguf_type::uint32
      : std::is_same_v<From, cke::i32>                     ? gguf_type::int32
      : std::is_same_v<From, cke::u64>                     ? gguf_type::uint64
      : std::is_same_v<From, cke::i64>                     ? gguf_type::int64
      : std::is_same_v<From, float>                        ? gguf_type::float32
      : std::is_same_v<From, double>                       ? gguf_type::float64
                                                           : gguf_type::boolean;
  To out{};
  const bool good = cke::io::detail::convert(type, std::as_bytes(std::span(&x, 1)), out);
  return good ? std::optional(out) : std::nullopt;
}

}  // namespace

static_assert(cke::io::info(cke::io::gguf_type::float64).name == "f64");
static_assert(cke::io::info(cke::io::gguf_type::float64).bytes == 8);
static_assert(cke::io::info(cke::io::gguf_type::string).bytes == 0);
static_assert(cke::io::info(cke::io::gguf_type::uint64).name == "u64");

TEST_CASE("gguf_value: integers convert when they are in range") {
  CHECK(convert<cke::u32>(std::int8_t{5}) == 5u);
  CHECK_FALSE(convert<cke::u32>(std::int8_t{-5}).has_value());
  CHECK_FALSE(convert<cke::u64>(cke::i64{-1}).has_value());
  CHECK(convert<cke::i32>(cke::u32{0x7fffffff}) == 0x7fffffff);
  CHECK_FALSE(convert<cke::i32>(cke::u32{0x80000000}).has_value());
  CHECK(convert<cke::i32>(std::numeric_limits<cke::i64>::min() >> 32) == std::numeric_limits<cke::i32>::min());
  CHECK_FALSE(convert<cke::i64>(~cke::u64{0}).has_value());
  CHECK(convert<cke::u64>(~cke::u64{0}) == ~cke::u64{0});
  CHECK(convert<cke::i32>(std::int16_t{-300}) == -300);
  CHECK(convert<cke::i64>(cke::u16{0xffff}) == 0xffff);
}

TEST_CASE("gguf_value: kinds of numbers do not mix") {
  CHECK(convert<double>(0.1f) == double{0.1f});
  CHECK_FALSE(convert<float>(0.5).has_value());
  CHECK_FALSE(convert<double>(cke::u8{1}).has_value());
  CHECK_FALSE(convert<cke::u32>(1.0f).has_value());
  CHECK_FALSE(convert<bool>(cke::u8{1}).has_value());
  CHECK_FALSE(convert<cke::u32>(true).has_value());
  CHECK(convert<bool>(false) == false);
}

TEST_CASE("gguf_value: descriptions are short and exact") {
  const auto of = [](cke::io::gguf_type t, auto x) {
    return cke::io::detail::describe(t, std::as_bytes(std::span(&x, 1)));
  };
  CHECK(of(cke::io::gguf_type::float32, 1e-6f) == "f32 1e-06");
  CHECK(of(cke::io::gguf_type::float64, std::numeric_limits<double>::infinity()) == "f64 inf");
  CHECK(of(cke::io::gguf_type::int64, std::numeric_limits<cke::i64>::min()) == "i64 -9223372036854775808");
  CHECK(of(cke::io::gguf_type::uint64, ~cke::u64{0}) == "u64 18446744073709551615");
  CHECK(of(cke::io::gguf_type::int8, cke::i8{-7}) == "i8 -7");
  CHECK(of(cke::io::gguf_type::boolean, cke::u8{1}) == "bool true");
}
