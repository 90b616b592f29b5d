// SPDX-License-Identifier: MIT
// config_key.hpp: a member of a family's config, bound to the keys that files keep it under.
//   bind<&qwen3_config::heads>("num_attention_heads", "attention.head_count").range(1, 4096)
#pragma once

#include <boost/pfr/tuple_size.hpp>
#include <initializer_list>
#include <iterator>

#include "../core/json.hpp"
#include "../core/params.hpp"
#include "../core/role.hpp"
#include "../core/spelling.hpp"
#include "layer_set.hpp"

namespace cke {

// Words for layers in a set, and for layers outside it.
struct word_list {
  std::string_view all[8];
  // g++ 12 does not treat as constant what a shorter list leaves out.
  constexpr word_list(std::initializer_list<std::string_view> words) {
    for (std::size_t i = 0; i < std::size(all); ++i) all[i] = i < words.size() ? words.begin()[i] : std::string_view{};
  }
  constexpr bool has(std::string_view word) const {
    for (const std::string_view w : all)
      if (w == word && !w.empty()) return true;
    return false;
  }
};
struct layer_words {
  word_list in, out;
};
inline constexpr layer_words sliding_words{.in = {"sliding_attention"}, .out = {"full_attention"}};

template <auto Member> constexpr auto member_text() { return std::string_view(__PRETTY_FUNCTION__); }
// The name of a member, as C++ spells it: the part after the last colon.
template <auto Member> constexpr std::string_view member_name() {
  constexpr std::string_view text = member_text<Member>();
  std::size_t end = text.size() - 1;
  while (text[end - 1] == ')') --end;
  std::size_t begin = end;
  while (text[begin - 1] != ':') --begin;
  return text.substr(begin, end - begin);
}

// A key without the type of its config: the part that the reader needs.
struct config_field {
  std::string_view name{};  // of the member
  spellings hf{}, gguf{};
  double least = 0, most = -1,
         null = -1;  // null: the value that null stands for; -1: null means absent
  bool derived = false, needed = false, partial = false, local = false, written = true, is_chosen = false;
  bool zero_is_null = false;
  std::string_view absent_word{};
  const layer_words* words{};
  std::string_view layer_type{}, head_dim_name{};  // of a rope

  constexpr const spellings& in(naming as) const { return as == naming::hf ? hf : gguf; }
};

// A key of config C. One of the pointers is set; none if the reader sets the value by itself. A file may leave a key
// out if the family's default is in its range.
template <class C> struct config_key : config_field {
  u32 C::* number{};
  real C::* real_number{};
  bool C::* flag{};
  layer_set C::* layers{};
  rotary C::* rope{};
  u32 C::* head_dim{};  // of the heads that the rope rotates
  pairing C::* pairs{};
  rope_axes C::* axes{};
  rope_scaling C::* rule{};
  const rope_factors* C::* factors{};
  bool C::* only_with{};  // the flag without which the value says nothing of the model

  constexpr config_key range(double a, double b) const {
    config_key k = *this;
    k.least = a, k.most = b;
    return k;
  }
  // A file may leave the key out whatever its default is: the value follows from others.
  constexpr config_key optional() const {
    config_key k = *this;
    k.derived = true;
    return k;
  }
  // A set of layers that every file must have.
  constexpr config_key required() const {
    config_key k = *this;
    k.needed = true;
    return k;
  }
  constexpr config_key null_means(double v) const {
    config_key k = *this;
    k.null = v;
    return k;
  }
  // GGUF has no null: there, 0 stands for it.
  constexpr config_key or_zero_in_gguf() const {
    config_key k = *this;
    k.zero_is_null = true;
    return k;
  }
  // A word that may stand in the number's place and means that it is absent.
  constexpr config_key absent_if(std::string_view word) const {
    config_key k = *this;
    k.absent_word = word;
    return k;
  }
  constexpr config_key among(const layer_words& w) const {
    config_key k = *this;
    k.words = &w;
    return k;
  }
  // GGUF files show the value by other means, such as a tensor: there is no key to write.
  constexpr config_key shown() const {
    config_key k = *this;
    k.written = false;
    return k;
  }
  // The program chooses the value: a type is not refused for a file that has another.
  constexpr config_key chosen() const {
    config_key k = *this;
    k.is_chosen = true;
    return k;
  }
  // The value is compared only where a type and a file both have this flag.
  constexpr config_key only_if(bool C::* set) const {
    config_key k = *this;
    k.only_with = set;
    return k;
  }
  // The layers that a rope is for, ...
  constexpr config_key of_layers(std::string_view type) const {
    config_key k = *this;
    k.layer_type = type;
    return k;
  }
  // ... or the sliding layers, whose rope files describe in less detail. or_a_part: it may rotate a part of a head.
  constexpr config_key of_sliding_layers() const {
    config_key k = of_layers("sliding_attention");
    k.local = true;
    return k;
  }
  constexpr config_key or_a_part() const {
    config_key k = *this;
    k.partial = true;
    return k;
  }
};

template <class C, class T> C class_of(T C::*);
template <auto Member> using class_of_member = decltype(class_of(Member));

template <auto Member> constexpr auto bind(spellings hf = {}, spellings gguf = {}) {
  using C = class_of_member<Member>;
  config_key<C> k;
  using type = std::remove_cvref_t<decltype(std::declval<C>().*Member)>;
  k.name = member_name<Member>(), k.hf = hf, k.gguf = gguf;
  if constexpr (std::is_same_v<type, u32>) k.number = Member;
  else if constexpr (std::is_same_v<type, real>) k.real_number = Member;
  else if constexpr (std::is_same_v<type, bool>) k.flag = Member;
  else if constexpr (std::is_same_v<type, layer_set>) k.layers = Member, k.words = &sliding_words;
  else if constexpr (std::is_same_v<type, rotary>) k.rope = Member;
  else if constexpr (std::is_same_v<type, pairing>) k.pairs = Member;
  else if constexpr (std::is_same_v<type, rope_axes>) k.axes = Member;
  else if constexpr (std::is_same_v<type, rope_scaling>) k.rule = Member;
  else if constexpr (std::is_same_v<type, const rope_factors*>) k.factors = Member;
  else static_assert(sizeof(type) == 0, "cke: bind: no key can be of this type");
  if constexpr (std::is_same_v<type, bool>) k.most = 1;
  else if constexpr (std::is_same_v<type, layer_set>) k.least = 1, k.most = layer_set::most;
  return k;
}

// A rope and the size of the heads that it rotates; files say much of it under keys that all ropes share.
template <auto Rope, auto HeadDim> constexpr auto bind_rope(spellings gguf_base = {}) {
  auto k = bind<Rope>({}, gguf_base);
  k.head_dim = HeadDim, k.head_dim_name = member_name<HeadDim>();
  return k;
}

// Every member of the config is bound exactly once.
template <class C> constexpr bool binds_each_member_once(const auto& keys) {
  for (auto a = std::begin(keys); a != std::end(keys); ++a)
    for (auto b = std::begin(keys); b != a; ++b)
      if (a->name == b->name) return false;
  return std::size(keys) == boost::pfr::tuple_size_v<C>;
}

constexpr bool numbers_have_ranges(const auto& keys) {
  for (const auto& k : keys)
    if ((k.number || k.real_number) && k.least > k.most) return false;
  return true;
}
constexpr bool binds_layers(const auto& keys) {
  for (const auto& k : keys)
    if (k.layers) return true;
  return false;
}

// A condition between two members of a config; its message names the keys of both.
template <class C> struct relation {
  std::string_view about;
  bool (*holds)(const C&);
  std::string_view wanted, other{};
};
template <auto A, auto B> inline constexpr relation<class_of_member<A>> multiple_of{
    member_name<A>(), [](const class_of_member<A>& c) { return c.*B != 0 && c.*A % c.*B == 0; }, "a multiple of",
    member_name<B>()};
template <auto A, auto B> inline constexpr relation<class_of_member<A>> divisor_of{
    member_name<A>(), [](const class_of_member<A>& c) { return c.*A != 0 && c.*B % c.*A == 0; }, "a divisor of",
    member_name<B>()};
template <auto A, auto B> inline constexpr relation<class_of_member<A>> at_most{
    member_name<A>(), [](const class_of_member<A>& c) { return c.*A <= c.*B; }, "at most", member_name<B>()};
template <auto A> inline constexpr relation<class_of_member<A>> even{
    member_name<A>(), [](const class_of_member<A>& c) { return c.*A % 2 == 0 && c.*A != 0; }, "an even number"};

// A key that has no member in the config: if present, it must be this literal.
struct requirement {
  std::string_view hf, literal;
};

enum class trouble : u8 { none, missing, not_a_number, not_a_bool, out_of_range, unknown_word, unsupported };

// The first error in a config, as data, for a static_assert or an Error.
struct config_problem {
  trouble what{};
  std::string_view key{}, found{};
  double least{}, most{};
  std::string_view wanted{}, other{};  // other: the key of the value to compare to
  const layer_words* words{};          // or one of these
};

}  // namespace cke
