// SPDX-License-Identifier: MIT
// hf.hpp: Hugging Face directories: Model<M>::load(cke::hf("dir")).
#pragma once

#include "io/hf_checkpoint.hpp"

namespace cke {

using io::hf;

}  // namespace cke
