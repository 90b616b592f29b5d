// SPDX-License-Identifier: MIT
// mixtral.cpp: Mixtral in f32 against transformers.
#include <cke/models/mixtral.hpp>

#include "parity.hpp"

TEST_CASE("parity: mixtral: its own names of experts; in GGUF it is a llama") {
  parity::check_family<configs::mixtral>("mixtral");
}
