// SPDX-License-Identifier: MIT
// built_unit.hpp: the unit that is compiled ahead of a model's first use.
#pragma once

#include "source.hpp"

namespace cke::tool {

// Of a Hugging Face directory, a .gguf file, a bundle, or a config.json alone, whose weights need not be there yet and
// which goes with a format. Throws Error.
unit built_unit(const model_args& args);

}  // namespace cke::tool
