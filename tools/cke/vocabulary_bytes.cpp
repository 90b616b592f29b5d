// SPDX-License-Identifier: MIT
// vocabulary_bytes.cpp: see vocabulary_bytes.hpp. Numbers are little-endian, lists and texts have their size before
// them, a variant has the number of its alternative; the fields of an aggregate follow one another (Boost.PFR).
#include "vocabulary_bytes.hpp"

#include <boost/pfr/core.hpp>
#include <variant>

#include <cke/text/tokenizer/steps/charsmap.hpp>
#include <cke/text/tokenizer/steps/recipe.hpp>

#include "rooms.hpp"

namespace cke::tool {
namespace {

using namespace text;

template <class T> constexpr bool is_list = false;
template <class T> constexpr bool is_list<std::vector<T>> = true;
template <class T> constexpr bool is_list<plain_list<T>> = true;
template <class T> constexpr bool is_variant = false;
template <class... Ts> constexpr bool is_variant<std::variant<Ts...>> = true;
template <class T> constexpr bool is_pointer = false;
template <class T> constexpr bool is_pointer<std::shared_ptr<T>> = true;
template <class T> using item_of = std::remove_cvref_t<decltype(*std::declval<T>().data())>;
// Items without bytes between them, all of whose bits are numbers.
template <class T> constexpr bool is_all_number =
    (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) || std::is_same_v<T, text::merge>;

// The last value of each enumeration.
constexpr auto last_of(tokenizer_model) { return tokenizer_model::steps; }
constexpr auto last_of(pre_tokenizer) { return pre_tokenizer::patterns; }
constexpr auto last_of(token_type) { return token_type::byte; }
constexpr auto last_of(space_prefix) { return space_prefix::at_beginning; }
constexpr auto last_of(cutting::behavior) { return cutting::behavior::contiguous; }
constexpr auto last_of(cutting::char_set) { return cutting::char_set::number; }
constexpr auto last_of(cutting::prefix) { return cutting::prefix::first; }

class writer {
 public:
  std::string out;

  template <class T> void put(const T& x) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      raw(&x, sizeof x);
    } else if constexpr (std::is_same_v<T, std::string>) {
      put(u64{x.size()});
      raw(x.data(), x.size());
    } else if constexpr (is_list<T>) {
      put(u64{x.size()});
      if constexpr (is_all_number<item_of<T>>) raw(x.data(), x.size() * sizeof *x.data());
      else
        for (const auto& item : x) put(item);
    } else if constexpr (is_variant<T>) {
      put(static_cast<u8>(x.index()));
      std::visit([&](const auto& is) { put(is); }, x);
    } else if constexpr (std::is_same_v<T, std::shared_ptr<const charsmap>>) {
      put(x->blob());
    } else if constexpr (std::is_same_v<T, std::shared_ptr<const text_recipe>>) {
      put(x != nullptr);
      if (x) put(*x);
    } else if constexpr (!is_pointer<T>) {  // other pointers are made of the rest
      boost::pfr::for_each_field(x, [&](const auto& field) { put(field); });
    }
  }

 private:
  void raw(const void* from, std::size_t size) { out.append(static_cast<const char*>(from), size); }
};

class reader {
 public:
  reader(std::span<const std::byte> bytes, const std::string& file) : left_(bytes), file_(file) {}

  template <class T> void get(T& x) {
    if constexpr (std::is_same_v<T, bool>) {
      u8 byte{};
      get(byte);
      if (byte > 1) fail("0 or 1", byte);
      x = byte == 1;
    } else if constexpr (std::is_enum_v<T>) {
      std::underlying_type_t<T> number{};
      get(number);
      if (number > static_cast<std::underlying_type_t<T>>(last_of(T{}))) fail("a value of an enumeration", number);
      x = static_cast<T>(number);
    } else if constexpr (std::is_arithmetic_v<T>) {
      raw(&x, sizeof x);
    } else if constexpr (std::is_same_v<T, std::string>) {
      x.resize(size(1));
      raw(x.data(), x.size());
    } else if constexpr (is_list<T>) {
      using item = item_of<T>;
      x.resize(size(is_all_number<item> ? sizeof(item) : 1));
      if constexpr (is_all_number<item>) raw(x.data(), x.size() * sizeof(item));
      else
        for (auto& one : x) get(one);
    } else if constexpr (is_variant<T>) {
      alternative(x, std::make_index_sequence<std::variant_size_v<T>>{});
    } else if constexpr (std::is_same_v<T, std::shared_ptr<const charsmap>>) {
      std::string blob;
      get(blob);
      x = std::make_shared<const charsmap>(blob, file_, subject);
    } else if constexpr (std::is_same_v<T, std::shared_ptr<const text_recipe>>) {
      bool there{};
      get(there);
      if (!there) return;
      text_recipe recipe;
      get(recipe);
      x = std::make_shared<const text_recipe>(std::move(recipe));
    } else if constexpr (!is_pointer<T>) {
      boost::pfr::for_each_field(x, [&](auto& field) { get(field); });
    }
  }
  void end() const {
    if (!left_.empty()) fail("no more bytes", left_.size());
  }
  [[noreturn]] void fail(std::string_view expected, u64 found) const {
    throw Error(errc::malformed, file_, subject, expected, concat({found}));
  }

 private:
  static constexpr const char* subject = "vocabulary";

  u64 size(u64 each) {
    u64 n{};
    get(n);
    if (n > left_.size() / each)
      fail(concat({"at most ", left_.size() / each, " items in the bytes that are left"}), n);
    return n;
  }
  void raw(void* to, std::size_t size) {
    if (size > left_.size()) fail(concat({size, " bytes"}), left_.size());
    if (size) std::memcpy(to, left_.data(), size);
    left_ = left_.subspan(size);
  }
  template <class T, std::size_t... I> void alternative(T& x, std::index_sequence<I...>) {
    u8 index{};
    get(index);
    const bool known = ((index == I && (get(x.template emplace<I>()), true)) || ...);
    if (!known) fail(concat({"an alternative below ", u64{sizeof...(I)}}), index);
  }

  std::span<const std::byte> left_;
  const std::string& file_;
};

}  // namespace

std::string bytes_of_vocabulary(const vocabulary& v) {
  writer to;
  to.put(v);
  return std::move(to.out);
}

vocabulary vocabulary_of(std::span<const std::byte> bytes, const std::string& file) {
  vocabulary v;
  reader from(bytes, file);
  from.get(v);
  from.end();
  if (v.model == tokenizer_model::steps && !v.recipe) from.fail("a recipe of steps", 0);
  if (v.model != tokenizer_model::steps && v.recipe) from.fail("no recipe of steps", 1);
  for (const token_type type : v.types)
    if (type < token_type::normal) from.fail("types of tokens from 1 on", 0);
  if (!v.recipe) return v;
  if (const auto* scored = std::get_if<modelling::unigram>(&v.recipe->model);
      scored && scored->scores.size() != v.tokens.size())
    from.fail(concat({u64{v.tokens.size()}, " scores"}), scored->scores.size());
  for (const auto& step : v.recipe->cuts)
    if (const auto* cut = std::get_if<cutting::fixed_length>(&step); cut && cut->characters == 0)
      from.fail("pieces of a length above 0", 0);
  return v;
}

}  // namespace cke::tool
