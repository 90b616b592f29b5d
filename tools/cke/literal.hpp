// SPDX-License-Identifier: MIT
// literal.hpp: numbers, enumerators and aggregates as the C++ text that gives them back to the bit.
#pragma once

#include <charconv>
#include <cmath>
#include <string>

#include <boost/pfr/core.hpp>
#include <cke/models/llama.hpp>
#include <cke/models/qwen3.hpp>

namespace cke::tool {

// In declaration order, which the compiler of a unit checks once more: they are its designators.
template <class T> inline constexpr std::string_view field_names[] = {""};
template <> inline constexpr std::string_view field_names<rotary>[] = {
    "dims", "theta", "pairs", "rule", "factor", "low", "high", "beta_fast", "beta_slow", "mscale",
    "mscale_all", "truncate", "attention_factor", "original", "max_position", "factors"};
template <> inline constexpr std::string_view field_names<qwen3_config>[] = {
    "vocab", "dim", "hidden", "layers", "heads", "kv_heads", "head_dim", "eps", "tied", "bias", "rope"};
template <> inline constexpr std::string_view field_names<llama_config>[] = {
    "vocab", "dim", "hidden", "layers", "heads", "kv_heads", "head_dim", "eps", "tied",
    "attention_bias", "mlp_bias", "rope"};

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
inline std::string literal(pairing v) { return v == pairing::split ? "cke::pairing::split" : "cke::pairing::adjacent"; }
inline std::string literal(stretch v) {
  static constexpr std::string_view names[] = {"none", "linear", "dynamic", "llama3", "yarn", "longrope", "proportional"};
  return "cke::stretch::" + std::string(names[static_cast<u8>(v)]);
}
inline std::string literal(const rope_factors* v) { return v ? "&factors" : "nullptr"; }

// {.field = value, ...}: the fields that are not as in T{}.
template <class T>
  requires std::is_aggregate_v<T>
std::string literal(const T& v) {
  static_assert(std::size(field_names<T>) == boost::pfr::tuple_size_v<T>);
  std::string out;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto one = [&](std::string_view name, const auto& field, const auto& usual) {
      if (const std::string text = literal(field); text != literal(usual))
        out += (out.empty() ? "." : ", .") + std::string(name) + " = " + text;
    };
    const T usual{};
    (one(field_names<T>[I], boost::pfr::get<I>(v), boost::pfr::get<I>(usual)), ...);
  }(std::make_index_sequence<std::size(field_names<T>)>{});
  return '{' + out + '}';
}

inline std::string literal(const double* list, u32 count) {
  std::string out;
  for (u32 i = 0; i < count; ++i) out += (i ? ", " : "") + literal(list[i]);
  return '{' + out + '}';
}

}  // namespace cke::tool
