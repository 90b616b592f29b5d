// SPDX-License-Identifier: MIT
// literal.hpp: prints numbers, enumerators and aggregates as C++ text that evaluates to the same bits.
#pragma once

#include <charconv>
#include <cmath>
#include <string>

#include <boost/pfr/core.hpp>
#include <cke/models/config.hpp>

#include "rooms.hpp"

namespace cke::tool {

inline std::string literal(u32 v) { return std::to_string(v); }
inline std::string literal(bool v) { return v ? "true" : "false"; }
inline std::string literal(double v) {
  char digits[40];
  const auto [end, failed] = std::to_chars(digits, digits + sizeof digits, v);
  if (failed != std::errc{} || !std::isfinite(v))
    throw Error(errc::config_range, {}, "config", "finite numbers", "another");
  std::string text(digits, end);
  return text.find_first_of(".e") == text.npos ? text + ".0" : text;
}
inline std::string literal(real v) { return literal(v.v); }
inline std::string literal(pairing v) {
  static constexpr std::string_view names[] = {"split", "adjacent", "split_halves"};
  return "cke::pairing::" + std::string(names[static_cast<u8>(v)]);
}
inline std::string literal(rope_axes v) {
  static constexpr std::string_view names[] = {"sequence", "row_column", "column_row", "alternate"};
  return "cke::rope_axes::" + std::string(names[static_cast<u8>(v)]);
}
inline std::string literal(rope_scaling v) {
  static constexpr std::string_view names[] = {"none", "linear",   "dynamic",     "llama3",
                                               "yarn", "longrope", "proportional"};
  return "cke::rope_scaling::" + std::string(names[static_cast<u8>(v)]);
}
inline std::string literal(const rope_factors* v) { return v ? "&factors" : "nullptr"; }

inline std::string literal(const layer_set& v) {
  std::size_t last = v.bits.size();
  while (last > 0 && v.bits[last - 1] == 0) --last;
  std::string out;
  for (std::size_t i = 0; i < last; ++i) out += (i ? ", " : "") + std::to_string(v.bits[i]);
  return "{{{" + out + "}}}";
}
inline std::string literal(const rotary& v);

// {.member = value, ...}: the members that are not as in T{}, each by the name of the key that is bound to it; the
// compiler of a unit checks them once more: they are its designators.
template <class T, class Keys> std::string literal(const T& v, const Keys& keys) {
  std::string out;
  const T usual{};
  const auto name_of = [&](const void* member) {
    for (const config_key<T>& k : keys) {
      const auto is = [&](auto T::* bound) { return bound && &(v.*bound) == member; };
      if (is(k.number) || is(k.real_number) || is(k.flag) || is(k.layers) || is(k.rope) || is(k.pairs) || is(k.axes) ||
          is(k.rule) || is(k.factors))
        return k.name;
    }
    return std::string_view{};
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto one = [&](const auto& member, const auto& unset) {
      if (const std::string text = literal(member); text != literal(unset))
        out += (out.empty() ? "." : ", .") + std::string(name_of(&member)) + " = " + text;
    };
    (one(boost::pfr::get<I>(v), boost::pfr::get<I>(usual)), ...);
  }(std::make_index_sequence<boost::pfr::tuple_size_v<T>>{});
  return '{' + out + '}';
}
inline std::string literal(const rotary& v) { return literal(v, rope_keys); }

inline std::string literal_list(const double* list, u32 count) {
  std::string out;
  for (u32 i = 0; i < count; ++i) out += (i ? ", " : "") + literal(list[i]);
  return '{' + out + '}';
}

}  // namespace cke::tool
