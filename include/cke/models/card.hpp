// SPDX-License-Identifier: MIT
// card.hpp: the vocabulary of a model card: the alphabet of layers, sets of layers, and families by name.
#pragma once

#include "../layers.hpp"
#include "layer_set.hpp"

namespace cke {

// Beside its card, files/ says how files spell a model; family.hpp lists the parts.
template <fixed_string ModelType> struct family {
  static_assert(sizeof(ModelType) == 0, "cke: family: no model family for this model_type; specialise cke::family");
};

}  // namespace cke
