// SPDX-License-Identifier: MIT
// bare_image.hpp: the weights of a bare model (docs/bare.md) as it reads them.
#pragma once

#include <string>

#include <cke/io/checkpoint.hpp>

#include "library.hpp"

namespace cke::tool {

// The image of a bare model. Throws Error, as Model::load does.
std::string bare_image_of(const library& door, const checkpoint& from, const model_options& options);

}  // namespace cke::tool
