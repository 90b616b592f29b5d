// SPDX-License-Identifier: MIT
// field.hpp: a field of a request; tables of them drive checks, errors and the OpenAPI document.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "../core/types.hpp"

namespace cke::serve {

enum class kind : u8 {
  boolean,
  integer,    // within [least, most]
  number,     // within [least, most]
  text,       // of `least` to `most` characters
  word,       // a text, one of `words`; or an object, where there are `fields`
  texts,      // a text, or a list of at most `most`
  object,     // with `fields`
  list,       // of `least` to `most` objects with `fields`
  content,    // a text, or a list of at most `most` parts, each of which has `fields`
  prompt,     // a text, token ids, or a list of either
  ids,        // a list of token ids
  biases,     // an object: token id to a number within [least, most]
  reference,  // a text of at most `most` characters, or an object with `fields`
  anything,   // an object whose keys are the model's or the caller's own
};

// null always means the default, which `about` names.
struct field {
  std::string_view name;
  kind is;
  double least = 0, most = 0;
  std::span<const std::string_view> words{};
  std::span<const field> fields{};
  bool required = false;
  // If not empty, a JSON list: cke does not implement the field, and accepts only these values, which change nothing.
  std::string_view neutral{};
  std::string_view about{};
};

// A parameter list, concatenated from several tables.
template <std::size_t... N> constexpr auto together(const std::array<field, N>&... tables) {
  std::array<field, (N + ...)> all{};
  std::size_t at = 0;
  const auto append = [&](const auto& table) {
    for (const field& f : table) all[at++] = f;
  };
  (append(tables), ...);
  return all;
}

}  // namespace cke::serve
