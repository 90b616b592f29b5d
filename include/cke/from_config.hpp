// SPDX-License-Identifier: MIT
// from_config.hpp: the type of a trusted config.json at compile time: using M = cke::from_config<text>;
#pragma once

#include "models/config.hpp"

CKE_COLD_BEGIN
namespace cke {

// The message names what is wrong, the key, what was found, and for numbers the range.
template <trouble What, fixed_string Key, fixed_string Found, real Least, real Most> struct config_is_good {
  static_assert(What == trouble::none,
                "cke: config: config.json does not describe a model of this family; "
                "see config_is_good<what, key, found, least, most>");
};

// Text is a constexpr char array: only its name, not the json, enters mangled names.
template <const auto& Text> struct hf_text {
  static constexpr std::string_view text{Text, sizeof(Text) - 1};
  static constexpr json all{text.substr(json::seek(text, '{'))}, nested = all["text_config"];
  static constexpr json root = nested.is_object() ? nested : all;
  static constexpr std::string_view model_type = root["model_type"].text();
  using family = cke::family<fixed_string<model_type.size() + 1>(model_type)>;
};
template <class From> concept of_known_family = requires { typename From::family::config; };

template <of_known_family From> struct hf_numbers {
  using family = typename From::family;
  static constexpr rope_factors factors = [] {
    rope_factors l{};
    read_config<family>(From::root, naming::hf, &l);
    return l;
  }();
  static constexpr config_problem bad = [] {
    rope_factors l{};
    return read_config<family>(From::root, naming::hf, &l).bad;
  }();
  static constexpr bool good = bad.what == trouble::none;
};

// An invalid config has a type too, so that its message is the only error.
template <class From> struct hf_model {
  using type = maps<1, 1>;
};
template <of_known_family From> struct hf_model<From> {
  static constexpr config_problem bad = hf_numbers<From>::bad;
  static constexpr std::string_view found = bad.found.substr(0, 40);
  [[no_unique_address]] config_is_good<bad.what, fixed_string<bad.key.size() + 1>(bad.key),
                                       fixed_string<found.size() + 1>(found), bad.least, bad.most> check;
  using type = maps<1, 1>;
};
// gcc 12 takes the address of `factors` only from another, complete class.
template <of_known_family From>
  requires(hf_numbers<From>::good)
struct hf_model<From> {
  using family = typename From::family;
  static constexpr typename family::config read() {
    typename family::config c = read_config<family>(From::root, naming::hf, nullptr).config;
    if (c.rope.rule == rope_scaling::longrope) c.rope.factors = &hf_numbers<From>::factors;
    return c;
  }
  static constexpr typename family::config config = read();
  using type = typename family::template type<config>;
};
template <const auto& Text> using from_config = typename hf_model<hf_text<Text>>::type;

}  // namespace cke
CKE_COLD_END
