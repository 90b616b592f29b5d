// SPDX-License-Identifier: MIT
// family.hpp: a family is a config aggregate, a type list over it, key names and tensor names.
#pragma once

#include "../core/error.hpp"
#include "../core/role.hpp"
#include "../layers.hpp"

namespace cke {

// A family specialises this for its config: `config` (an aggregate), `keys` (one row per field, in
// field order), `names` (tensor names) and `type<config>` (the list).
template <fixed_string ModelType> struct family {
  static_assert(sizeof(ModelType) == 0,
                "cke: family: no model family for this model_type; specialise cke::family");
};

// Where a field stands in config.json ("a.b|c": member b of a, or else c) and in GGUF metadata
// (without the architecture's prefix), whether it may be absent, and its sane range.
struct config_key {
  std::string_view hf, gguf;
  bool optional;
  double least, most;
};

// A feature that the family does not have: when the key is present it must be this literal.
struct requirement { std::string_view hf, literal; };

}  // namespace cke
