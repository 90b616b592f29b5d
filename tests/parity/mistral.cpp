// SPDX-License-Identifier: MIT
// mistral.cpp: mistral in f32 against transformers.
#include <cke/models/mistral.hpp>

#include "parity.hpp"

TEST_CASE("parity: mistral: a window inside the prompt") { parity::check_family<configs::mistral>("mistral"); }
