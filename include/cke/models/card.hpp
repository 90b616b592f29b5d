// SPDX-License-Identifier: MIT
// card.hpp: what a model card is written in: the alphabet of layers, sets of layers, and families by name.
#pragma once

#include "../layers.hpp"
#include "layer_set.hpp"

namespace cke {

// How files spell a model is said beside its card, in files/: family.hpp lists what.
template <fixed_string ModelType> struct family {
  static_assert(sizeof(ModelType) == 0, "cke: family: no model family for this model_type; specialise cke::family");
};

}  // namespace cke
