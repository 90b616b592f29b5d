// SPDX-License-Identifier: MIT
// presets.hpp: every preset of the library, as one type list.
#pragma once

#include "cke/models/llama.hpp"
#include "cke/models/qwen3.hpp"

namespace cke {
using presets = list<Qwen3_0_6B, Qwen3_1_7B, Qwen3_4B, Qwen3_8B, Qwen3_14B, Qwen3_32B, SmolLM2_135M, SmolLM2_360M, SmolLM2_1_7B,
                     Llama_3_2_1B, Llama_3_2_3B, Llama_3_1_8B>;
}  // namespace cke
