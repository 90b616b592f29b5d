// SPDX-License-Identifier: MIT
// presets.hpp: every preset of Qwen3 and Llama, and one of every other family, as one type list.
#pragma once

#include "cke/models/deepseek.hpp"
#include "cke/models/gemma3.hpp"
#include "cke/models/gemma4.hpp"
#include "cke/models/glm4.hpp"
#include "cke/models/glm4_moe.hpp"
#include "cke/models/granite.hpp"
#include "cke/models/granitemoe.hpp"
#include "cke/models/granitemoehybrid.hpp"
#include "cke/models/lfm2.hpp"
#include "cke/models/lfm2_moe.hpp"
#include "cke/models/llama.hpp"
#include "cke/models/mamba2.hpp"
#include "cke/models/mistral.hpp"
#include "cke/models/mixtral.hpp"
#include "cke/models/nemotron_h.hpp"
#include "cke/models/olmo2.hpp"
#include "cke/models/olmoe.hpp"
#include "cke/models/phi3.hpp"
#include "cke/models/qwen2.hpp"
#include "cke/models/qwen2_moe.hpp"
#include "cke/models/qwen3.hpp"
#include "cke/models/qwen3_5.hpp"
#include "cke/models/qwen3_moe.hpp"
#include "cke/models/qwen3_next.hpp"
#include "cke/models/smollm3.hpp"

namespace cke {
using presets =
    list<Qwen3_0_6B, Qwen3_1_7B, Qwen3_4B, Qwen3_8B, Qwen3_14B, Qwen3_32B, SmolLM2_135M, SmolLM2_360M, SmolLM2_1_7B,
         Llama_3_2_1B, Llama_3_2_3B, Llama_3_1_8B, Gemma_2_2B, Gemma_3_270M, Gemma_4_E2B, Gemma_4_26B_A4B, DeepSeek_V3,
         GLM_4_9B, Granite_3_3_2B, Mistral_7B_v0_1, OLMo_2_1B, Phi_3_mini_4k, Qwen2_5_0_5B, SmolLM3_3B, Qwen3_30B_A3B,
         Qwen1_5_MoE_A2_7B, GLM_4_5_Air, Granite_3_0_1B_A400M, OLMoE_1B_7B, Mixtral_8x7B, LFM2_350M, LFM2_8B_A1B,
         Qwen3_5_0_8B, Qwen3_Next_80B_A3B, Mamba2_130M, Granite_4_0_H_350M, Nemotron_H_8B>;
}  // namespace cke
