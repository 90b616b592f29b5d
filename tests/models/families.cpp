// SPDX-License-Identifier: MIT
// families.cpp: what each family's config may not say, and what GGUF leaves out.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "cke/models/config.hpp"
#include "cke/models/deepseek.hpp"
#include "cke/models/gemma3.hpp"
#include "cke/models/gemma4.hpp"
#include "cke/models/glm4.hpp"
#include "cke/models/glm4_moe.hpp"
#include "cke/models/granitemoehybrid.hpp"
#include "cke/models/lfm2.hpp"
#include "cke/models/lfm2_moe.hpp"
#include "cke/models/mistral.hpp"
#include "cke/models/mixtral.hpp"
#include "cke/models/nemotron_h.hpp"
#include "cke/models/olmoe.hpp"
#include "cke/models/phi3.hpp"
#include "cke/models/qwen2.hpp"
#include "cke/models/qwen2_5_vl.hpp"
#include "cke/models/qwen2_moe.hpp"
#include "cke/models/qwen3.hpp"
#include "cke/models/qwen3_5_moe.hpp"
#include "cke/models/qwen3_moe.hpp"
#include "cke/models/qwen3_next.hpp"
#include "cke/models/qwen3_vl_moe.hpp"
#include "cke/models/smollm3.hpp"

using namespace cke;

namespace {

const std::string shape =
    R"("vocab_size": 384, "hidden_size": 96, "intermediate_size": 160, "num_hidden_layers": 4, "num_attention_heads": 6,
  "num_key_value_heads": 2})";

template <class Family> parsed_config<typename Family::config> from_hf(const std::string& more) {
  static rope_factors factors;
  static std::string text;  // what a problem points into
  text = "{" + more + shape;
  return read_config<Family>(json{text}, naming::hf, &factors);
}
// The key that is refused, or "" for a good config.
template <class Family> std::string refused(const std::string& more) {
  return std::string(from_hf<Family>(more).bad.key);
}
template <class Family> parsed_config<typename Family::config> from_gguf(const std::string& more) {
  return read_config<Family>(
      json{"{" + more + R"("vocab_size": 384, "embedding_length": 96, "feed_forward_length": 160, "block_count": 4,
    "attention.head_count": 6, "attention.head_count_kv": 2, "attention.key_length": 24, "context_length": 128})"},
      naming::gguf, nullptr);
}

using deepseek_v2_family = family<"deepseek_v2">;
using deepseek_v3_family = family<"deepseek_v3">;
using gemma2_family = family<"gemma2">;
using gemma3_family = family<"gemma3_text">;
using gemma4_family = family<"gemma4_text">;
using glm4_family = family<"glm4">;
using granite_family = family<"granite">;
using lfm2_family = family<"lfm2">;
using lfm2_moe_family = family<"lfm2_moe">;
using mamba2_family = family<"mamba2">;
using mistral_family = family<"mistral">;
using nemotron_h_family = family<"nemotron_h">;
using phi3_family = family<"phi3">;
using qwen2_family = family<"qwen2">;
using qwen2_5_vl_family = family<"qwen2_5_vl_text">;
using glm4_moe_family = family<"glm4_moe">;
using granitemoe_family = family<"granitemoe">;
using granite4_family = family<"granitemoehybrid">;
using mixtral_family = family<"mixtral">;
using olmoe_family = family<"olmoe">;
using qwen2_moe_family = family<"qwen2_moe">;
using qwen3_5_family = family<"qwen3_5_text">;
using qwen3_moe_family = family<"qwen3_moe">;
using qwen3_next_family = family<"qwen3_next">;
using qwen3_vl_moe_family = family<"qwen3_vl_moe_text">;
using smollm3_family = family<"smollm3">;

}  // namespace

TEST_CASE("families: a feature that a family does not have is refused by its key") {
  CHECK(refused<gemma3_family>("") == "");
  CHECK(refused<gemma3_family>(R"("attn_logit_softcapping": 50.0, )") == "attn_logit_softcapping");
  CHECK(refused<gemma3_family>(R"("use_bidirectional_attention": true, )") == "use_bidirectional_attention");
  CHECK(refused<gemma3_family>(R"("hidden_activation": "gelu", )") == "hidden_activation");
  CHECK(refused<gemma2_family>(R"("attention_bias": true, )") == "attention_bias");
  CHECK(refused<qwen2_family>(R"("use_sliding_window": true, )") == "use_sliding_window");
  CHECK(refused<smollm3_family>(R"("use_sliding_window": true, )") == "use_sliding_window");
  CHECK(refused<granite_family>(R"("hidden_act": "gelu", )") == "hidden_act");
  CHECK(refused<phi3_family>(R"("attention_bias": true, )") == "attention_bias");
  CHECK(refused<phi3_family>(R"("max_position_embeddings": 64, "rope_scaling": {"type": "yarn", "factor": 2, )"
                             R"("long_factor": [1], "short_factor": [1]}, )") == "type");
  CHECK(refused<qwen2_family>(R"("partial_rotary_factor": 0.5, )") == "partial_rotary_factor");
  CHECK(refused<glm4_family>(R"("partial_rotary_factor": 0.5, )") == "");
  CHECK(refused<glm4_family>(R"("partial_rotary_factor": 1.5, )") == "partial_rotary_factor");
  CHECK(refused<glm4_family>(R"("partial_rotary_factor": 0.3, )") == "");  // 38 of 128
}

TEST_CASE("families: experts") {
  const auto with = [](const std::string& more) {
    return refused<qwen3_moe_family>(
        more + R"("moe_intermediate_size": 40, "num_experts_per_tok": 3, "num_local_experts": 7, )");
  };
  CHECK(with("") == "");
  CHECK(with(R"("num_experts": 2, )") == "num_experts_per_tok");  // before num_local_experts
  CHECK(with(R"("num_experts_per_tok": 8, )") == "num_experts_per_tok");
  CHECK(with(R"("num_experts_per_tok": 0, )") == "num_experts_per_tok");
  CHECK(with(R"("num_experts": 100000, )") == "num_experts");
  CHECK(with(R"("norm_topk_prob": 1, )") == "norm_topk_prob");
  CHECK(with(R"("decoder_sparse_step": 2, )") == "decoder_sparse_step");
  CHECK(with(R"("mlp_only_layers": [0], )") == "mlp_only_layers");
  CHECK(with(R"("mlp_only_layers": null, "decoder_sparse_step": 1, )") == "");
  CHECK(refused<qwen3_moe_family>(R"("moe_intermediate_size": 40, "num_experts": 7, )") == "num_experts_per_tok");
  CHECK(refused<qwen3_moe_family>(R"("num_experts_per_tok": 3, "num_experts": 7, )") == "moe_intermediate_size");
  const auto gguf = from_gguf<qwen3_moe_family>(
      "\"expert_count\": 7, \"expert_used_count\": 3, \"expert_feed_forward_length\": 40, ");
  CHECK(gguf.bad.what == trouble::none);
  CHECK(gguf.config.renormalise);  // llama.cpp always does
  CHECK(refused<olmoe_family>(R"("num_experts_per_tok": 3, "clip_qkv": 8.0, )") == "clip_qkv");
  CHECK(refused<olmoe_family>(R"("num_experts_per_tok": 65, )") ==
        "num_experts_per_tok");  // of the 64 that it has by default
  CHECK(refused<mixtral_family>(R"("sliding_window": 4096, )") == "sliding_window");
  CHECK(refused<mixtral_family>(R"("num_local_experts": 1, )") == "num_experts_per_tok");
  CHECK(refused<granitemoe_family>(R"("num_local_experts": 0, )") == "num_local_experts");
  CHECK(refused<qwen2_moe_family>(R"("moe_intermediate_size": 40, "num_experts_per_tok": 3, "num_experts": 7, )") ==
        "shared_expert_intermediate_size");
}

TEST_CASE("families: groups of experts, and layers without any") {
  const auto with = [](const std::string& more) {
    return refused<glm4_moe_family>(
        more + R"("moe_intermediate_size": 40, "num_experts_per_tok": 4, "n_routed_experts": 12, )");
  };
  CHECK(with("") == "");
  CHECK(with(R"("n_group": 4, "topk_group": 2, )") == "");
  CHECK(with(R"("n_group": 5, "topk_group": 5, )") == "n_group");
  CHECK(with(R"("n_group": 12, "topk_group": 12, )") == "n_group");  // a group's score is the sum of two
  CHECK(with(R"("n_group": 4, "topk_group": 1, )") == "topk_group");
  CHECK(with(R"("n_group": 4, "topk_group": 5, )") == "topk_group");
  CHECK(with(R"("n_shared_experts": 0, )") == "n_shared_experts");
  CHECK(with(R"("first_k_dense_replace": 4, )") == "");
  CHECK(with(R"("first_k_dense_replace": -1, )") == "first_k_dense_replace");
  const std::string experts = "\"expert_count\": 12, \"expert_used_count\": 4, \"expert_feed_forward_length\": 40, ";
  const auto gguf = from_gguf<glm4_moe_family>(
      experts + "\"qk_norm\": true, \"rope.dimension_count\": 12, \"leading_dense_block_count\": 2, ");
  CHECK(gguf.bad.what == trouble::none);
  CHECK(gguf.config.qk_norm);
  CHECK(gguf.config.dense_layers == 2);
  CHECK(gguf.config.rope.dims == 12);
}

TEST_CASE("families: layers by name must be names that the family knows, one for each layer") {
  const auto types = [](const std::string& list) { return "\"layer_types\": [" + list + "], "; };
  const std::string full = "\"full_attention\"", slide = "\"sliding_attention\"";
  CHECK(refused<gemma2_family>(types(slide + "," + full + "," + full + "," + slide)) == "");
  CHECK(refused<gemma2_family>(types(slide + "," + full)) == "layer_types");
  CHECK(refused<gemma2_family>(types(slide + "," + full + "," + full + ",\"linear_attention\"")) == "layer_types");
  CHECK(refused<gemma2_family>(types(slide + ",7," + full + "," + full)) == "layer_types");
  CHECK(refused<gemma2_family>(R"("sliding_window_pattern": 0, )") == "sliding_window_pattern");
  CHECK(refused<qwen2_family>(types(full + "," + full + "," + full + "," + full)) == "");
  CHECK(refused<qwen2_family>(types(full + "," + slide + "," + full + "," + full)) == "layer_types");
  CHECK(refused<mistral_family>(types(slide)) == "layer_types");
  CHECK(refused<smollm3_family>(R"("no_rope_layers": [1, 0, 1, 1], )") == "");
  CHECK(refused<smollm3_family>(R"("no_rope_layers": [1, 0, 1], )") == "no_rope_layers");
  std::string many = "1";
  for (u32 i = 0; i < layer_set::most; ++i) many += ", 1";
  CHECK(refused<smollm3_family>("\"no_rope_layers\": [" + many + "], ") == "no_rope_layers");
}

TEST_CASE("families: lfm2: layers that attend, by name or by number, and the width of the mlp") {
  const auto with = [](const std::string& more) {
    static std::string text;
    text = "{" + more + shape;
    return read_config<lfm2_family>(json{text}, naming::hf, nullptr);
  };
  const layer_set second = layer_set::of({1});
  CHECK(with(R"("layer_types": ["conv", "full_attention", "conv", "conv"], )").config.attends == second);
  CHECK(with(R"("full_attn_idxs": [1], )").config.attends == second);
  CHECK(with(R"("full_attn_idxs": null, "layer_types": null, )").config.attends == layer_set::up_to(4));
  CHECK(with(R"("full_attn_idxs": [3], "layer_types": ["conv", "full_attention", "conv", "conv"], )").config.attends ==
        second);
  CHECK(with(R"("layer_types": ["conv", "sliding_attention", "conv", "conv"], )").bad.key == "layer_types");
  CHECK(with(R"("layer_types": ["conv", "conv"], )").bad.key == "layer_types");
  CHECK(with(R"("full_attn_idxs": [1, "two"], )").bad.key == "full_attn_idxs");
  CHECK(with(R"("full_attn_idxs": [-1], )").bad.key == "full_attn_idxs");
  CHECK(with(R"("full_attn_idxs": [4096], )").bad.key == "full_attn_idxs");
  CHECK(with(R"("full_attn_idxs": 2, )").bad.key == "full_attn_idxs");
  CHECK(with(R"("block_auto_adjust_ff_dim": false, )").config.hidden == 160);
  CHECK(with("").config.hidden == 256);  // 106, up to a multiple of 256
  CHECK(with(R"("block_multiple_of": 32, )").config.hidden == 128);
  CHECK(with(R"("block_multiple_of": 10, "block_ffn_dim_multiplier": 1.3, )").config.hidden == 140);  // 137
  CHECK(with(R"("block_ff_dim": 6656, )").config.hidden == 4608);
  CHECK(with(R"("tie_embedding": false, "tie_word_embeddings": true, )").config.tied == false);
  CHECK(with(R"("conv_L_cache": 0, )").bad.key == "conv_L_cache");
  CHECK(with(R"("use_pos_enc": false, )").bad.key == "use_pos_enc");
  const auto gguf = from_gguf<lfm2_family>(R"("attention.head_count_kv": [0,2,0,0], "shortconv.l_cache": 4, )");
  CHECK(gguf.bad.what == trouble::none);
  CHECK(gguf.config.attends == second);
  CHECK(gguf.config.taps == 4);
  CHECK(gguf.config.hidden == 160);  // what the file says is the width
  CHECK(refused<lfm2_moe_family>(R"("num_experts_per_tok": 33, )") == "num_experts_per_tok");
}

TEST_CASE("families: gemma4: what its layers have of their own") {
  const std::string layers =
      R"("layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"], )";
  const std::string rows = R"("vocab_size_per_layer_input": 384, )";
  const auto with = [&](const std::string& more) { return refused<gemma4_family>(more + rows + layers); };
  CHECK(with("") == "");
  CHECK(refused<gemma4_family>(layers) == "vocab_size_per_layer_input");  // 262144 where it is absent
  CHECK(with(R"("num_kv_shared_layers": 2, "use_double_wide_mlp": true, "use_bidirectional_attention": "vision", )") ==
        "");
  CHECK(with(R"("num_kv_shared_layers": 3, )") == "num_kv_shared_layers");  // no full layer is left to read
  CHECK(with(R"("use_bidirectional_attention": "all", )") == "use_bidirectional_attention");
  CHECK(with(R"("vocab_size_per_layer_input": 128, )") == "vocab_size_per_layer_input");
  CHECK(with(R"("vocab_size_per_layer_input": 128, "hidden_size_per_layer_input": 0, )") == "");
  CHECK(with(R"("enable_moe_block": true, )") == "enable_moe_block");
  CHECK(with(R"("enable_moe_block": "false", )") == "enable_moe_block");
  // A layer that per_layer_config has no number of has the config's.
  CHECK(from_hf<gemma4_family>(R"("head_dim": 24, "per_layer_config": {}, )" + rows + layers).config.global_head_dim ==
        24);
  CHECK(from_hf<gemma4_family>(R"("head_dim": 24, )" + rows + layers).config.global_head_dim == 512);
  CHECK(with(R"("enable_moe_block": true, "num_experts": 4, "top_k_experts": 5, "moe_intermediate_size": 8, )") ==
        "top_k_experts");
  CHECK(with(R"("attention_k_eq_v": true, "num_global_key_value_heads": 4, )") == "num_global_key_value_heads");
  CHECK(with(R"("per_layer_config": {"1": {"head_dim": 20}, "3": {"head_dim": 20}}, )") == "");
  CHECK(with(R"("per_layer_config": {"1": {"head_dim": 20}, "3": {"head_dim": 24}}, )") == "per_layer_config");
  CHECK(with(R"("per_layer_config": {"1": {"head_dim": 20}, "2": {"head_dim": 20}}, )") == "per_layer_config");
  CHECK(with(R"("per_layer_config": {"1": {"head_dim": 20, "sliding_window": 4}}, )") == "per_layer_config");
  CHECK(
      with(
          R"("rope_parameters": {"full_attention": {"rope_type": "proportional", "rope_theta": 1e6, "partial_rotary_factor": 2}}, )") ==
      "partial_rotary_factor");
  const auto turning = [&](const std::string& how) {
    return with(R"("rope_parameters": {"full_attention": {"rope_theta": 1e6, )" + how + "}}, ");
  };
  CHECK(turning(R"("rope_type": "proportional", "partial_rotary_factor": 0.5)") == "");
  CHECK(turning(R"("rope_type": "default", "partial_rotary_factor": 1.0)") == "");
  CHECK(turning(R"("rope_type": "default", "partial_rotary_factor": 0.5)") == "partial_rotary_factor");
  const auto gguf = from_gguf<gemma4_family>(R"("feed_forward_length": [24,24,48,48], "attention.key_length": 20,
    "attention.key_length_swa": 12, "attention.sliding_window": 7, "attention.sliding_window_pattern": [true,false,true,false],
    "attention.shared_kv_layers": 2, "rope.scaling.type": "proportional", "rope.dimension_count": 4, "embedding_length_per_layer_input": 8, )");
  CHECK(gguf.bad.what == trouble::none);
  CHECK((gguf.config.hidden == 24 && gguf.config.double_wide && gguf.config.head_dim == 12 &&
         gguf.config.global_head_dim == 20));
  CHECK((gguf.config.shared_layers == 2 && gguf.config.part == 8 && gguf.config.rope.dims == 4 &&
         gguf.config.local_rope.dims == 12));
}

TEST_CASE("families: what decoders that see images say of their ropes, and text models leave alone") {
  const std::string axes = R"("mrope_section": [16, 8, 8], )", sees = R"("sees_images": true, )";
  // Qwen3.5 turns a quarter of 256 dims
  CHECK(refused<qwen3_5_family>(axes + sees) == "");
  CHECK(refused<qwen3_5_family>(R"("mrope_section": [16, 8, 9], )" + sees) == "mrope_section");
  CHECK(refused<qwen3_5_family>(R"("mrope_section": [16, 8, 9], )") == "");  // no image, no axis
  const auto seeing = from_hf<qwen3_5_family>(sees).config, alone = from_hf<qwen3_5_family>("").config;
  CHECK((seeing.section_t == 11 && seeing.section_h == 11 && seeing.section_w == 10));
  CHECK((seeing.images && !alone.images));
  CHECK((qwen3_5_attend(seeing).rope.interleaved && qwen3_5_attend(alone).rope.section_t == 0));
  const auto stored = from_gguf<qwen3_5_family>(
      R"("rope.dimension_sections": [2, 1, 1, 0], "rope.dimension_count": 8, "full_attention_interval": 4, )" + sees);
  CHECK(stored.bad.what == trouble::none);
  CHECK((stored.config.section_t == 2 && stored.config.section_h == 1 && stored.config.section_w == 1));

  // Qwen2.5-VL: as published, in runs of frequencies
  CHECK(refused<qwen2_5_vl_family>(R"("rope_scaling": {"type": "mrope", "mrope_section": [1, 1, 1]}, )") ==
        "mrope_section");  // 16 + 24 + 24 where the reader has put none
  CHECK(refused<qwen2_5_vl_family>(
            R"("rope_scaling": {"type": "mrope"}, "mrope_section": [2, 3, 3], "sliding_window": 64, )") == "");
  CHECK(refused<qwen2_5_vl_family>(R"("mrope_section": [2, 3, 3], "use_sliding_window": true, )") ==
        "use_sliding_window");
  CHECK(!qwen2_5_vl_attend(Qwen2_5_VL_7B::config).rope.interleaved);

  const auto experts = [](const std::string& more) {
    return refused<qwen3_vl_moe_family>(more + R"("head_dim": 16, "mrope_section": [4, 2, 2], "num_experts": 6, )");
  };
  CHECK(experts("") == "");
  CHECK(experts(R"("mlp_only_layers": [1, 3], "deepstack_layers": 2, )") == "");
  CHECK(experts(R"("decoder_sparse_step": 2, )") == "decoder_sparse_step");
  CHECK(experts(R"("deepstack_layers": 5, )") == "deepstack_layers");
  CHECK(experts(R"("num_experts_per_tok": 7, )") == "num_experts_per_tok");
}

TEST_CASE("families: gemma4: which rows of an image see each other, and the token that stands for them") {
  const std::string rest = R"("vocab_size_per_layer_input": 384, )", sees = R"("sees_images": true, )";
  const auto with = [&](const std::string& more) { return from_hf<gemma4_family>(more + rest).config; };
  const std::string vision = R"("use_bidirectional_attention": "vision", )";
  CHECK((with(vision + sees).sees_image && !with(vision).sees_image && !with(sees).sees_image));
  CHECK(gemma4_attend(with(vision + sees), false, false).sees_image);
  CHECK(!gemma4_attend(with(vision + sees), true, false).sees_image);  // a full layer
  CHECK((with(R"("pad_token_id": 3, )" + sees).pad == 3 && with(R"("pad_token_id": 3, )").pad == 0));
  CHECK(with(R"("pad_token_id": null, )" + sees).pad == 0);
  CHECK(refused<gemma4_family>(R"("pad_token_id": 384, )" + sees + rest) == "pad_token_id");
  CHECK(refused<gemma4_family>(R"("use_bidirectional_attention": true, )" + rest) == "use_bidirectional_attention");
  CHECK(from_gguf<gemma4_family>(vision + sees).config.sees_image);
}

TEST_CASE("families: qwen3_5: which layers are linear, and what GGUF says of them") {
  const auto with = [](const std::string& more) {
    static std::string text;
    text = "{" + more + shape;
    return read_config<qwen3_5_family>(json{text}, naming::hf, nullptr);
  };
  const layer_set usual = layer_set::of({0, 1, 2}), one = layer_set::of({2});
  CHECK(with("").config.linear == usual);
  CHECK(with("").config.rope.dims == 64);  // a quarter of 256
  CHECK(with(R"("rope_parameters": {"rope_theta": 1e7, "partial_rotary_factor": 0.5, "mrope_section": [11, 11, 10]}, )")
            .config.rope.dims == 128);
  CHECK(with(R"("full_attention_interval": 2, )").config.linear == layer_set::of({0, 2}));
  CHECK(with(R"("layer_types": ["full_attention", "full_attention", "linear_attention", "full_attention"], )")
            .config.linear == one);
  CHECK(with(R"("layer_types": ["full_attention", "conv", "linear_attention", "full_attention"], )").bad.key ==
        "layer_types");
  CHECK(with(R"("layer_types": ["linear_attention"], )").bad.key == "layer_types");
  CHECK(with(R"("attention_bias": true, )").bad.key == "attention_bias");
  CHECK(with(R"("attn_output_gate": false, )").bad.key == "attn_output_gate");
  CHECK(with(R"("linear_num_value_heads": 24, )").bad.key == "linear_num_value_heads");  // of 16 key heads
  CHECK(refused<qwen3_next_family>(R"("mlp_only_layers": [1], )") == "mlp_only_layers");
  const std::string heads = R"("ssm.group_count": 2, "ssm.state_size": 20, "ssm.head_dim": 10, "ssm.conv_kernel": 3, )";
  const auto gguf = from_gguf<qwen3_5_family>(
      heads +
      R"("ssm.time_step_rank": 6, "attention.recurrent_layers": [false,false,true,false,false], "full_attention_interval": 3, )");
  CHECK(gguf.bad.what == trouble::none);
  CHECK(gguf.config.linear == one);  // the list counts, and one layer of it only looks ahead
  CHECK(gguf.config.tiled);
  CHECK(gguf.config.key_dim == 20);
  CHECK(gguf.config.value_dim == 10);
  CHECK(gguf.config.taps == 3);
  CHECK(!from_gguf<qwen3_5_family>(heads + R"("ssm.time_step_rank": 2, )").config.tiled);  // there is one order only
  CHECK(from_gguf<qwen3_5_family>(heads + R"("ssm.time_step_rank": 6, "full_attention_interval": 3, )").config.linear ==
        layer_set::of({0, 1, 3}));
  CHECK(from_gguf<qwen3_5_family>(heads + R"("ssm.time_step_rank": 6, "attention.recurrent_layers": [true], )")
            .bad.what == trouble::out_of_range);
}

TEST_CASE("families: deepseek: how experts are chosen, and what is turned") {
  CHECK(refused<deepseek_v3_family>("") == "");
  CHECK(refused<deepseek_v3_family>(R"("scoring_func": "softmax", )") == "scoring_func");
  CHECK(refused<deepseek_v3_family>(R"("rope_interleave": false, )") == "rope_interleave");
  CHECK(refused<deepseek_v3_family>(R"("attention_bias": true, )") == "attention_bias");
  CHECK(refused<deepseek_v3_family>(R"("moe_layer_freq": 2, )") == "moe_layer_freq");
  CHECK(refused<deepseek_v3_family>(R"("n_group": 256, )") == "n_group");
  CHECK(refused<deepseek_v3_family>(R"("qk_rope_head_dim": 7, )") == "qk_rope_head_dim");
  CHECK(refused<deepseek_v3_family>(R"("kv_lora_rank": 33, )") == "kv_lora_rank");
  const auto v2 = [](const std::string& more) {
    return refused<deepseek_v2_family>(more + "\"num_experts_per_tok\": 6, ");
  };
  CHECK(v2("") == "");
  CHECK(v2(R"("topk_method": "group_limited_greedy", "n_group": 8, "topk_group": 3, )") == "");
  CHECK(v2(R"("topk_method": "greedy", "n_group": 8, "topk_group": 3, )") == "topk_method");
  CHECK(v2(R"("topk_method": "noaux_tc", )") == "topk_method");
  CHECK(v2(R"("norm_topk_prob": true, )") == "norm_topk_prob");
  const auto gguf = from_gguf<deepseek_v3_family>(
      R"("attention.kv_lora_rank": 20, "attention.key_length_nope": 12, "rope.dimension_count": 8,
    "attention.value_length_mla": 10, "expert_count": 12, "expert_used_count": 4, "expert_feed_forward_length": 40, "rope.scaling.type": "yarn",
    "rope.scaling.factor": 4, "rope.scaling.original_context_length": 16, "rope.scaling.mscale": 0.8, )");
  CHECK(gguf.bad.what == trouble::none);
  CHECK((gguf.config.q_rank == 0 && gguf.config.kv_rank == 20 && gguf.config.nope == 12 && gguf.config.head_dim == 8 &&
         gguf.config.value == 10));
  CHECK(gguf.config.rope.mscale == gguf.config.rope.mscale_all);
  CHECK(deepseek_scale(gguf.config).v == doctest::Approx(1.1109035 * 1.1109035 / std::sqrt(20.)));
}

TEST_CASE("families: mamba2: limits of the step, and what they are called") {
  const auto with = [](const std::string& more) {
    return from_hf<mamba2_family>(more + R"("num_heads": 6, "n_groups": 3, )");
  };
  CHECK((with("").bad.what == trouble::none && with("").config.least_step.v == 0 &&
         with("").config.most_step.v == 1e300));
  for (const char* infinity : {"Infinity", R"({"__float__": "Infinity"})"}) {
    const auto c = with(std::string("\"time_step_limit\": [0.01, ") + infinity + "], ");
    CHECK((c.bad.what == trouble::none && c.config.least_step.v == 0.01 && c.config.most_step.v == 1e300));
  }
  CHECK(with(R"("time_step_limit": [0, 2.5], )").config.most_step.v == 2.5);
  CHECK(with(R"("time_step_limit": null, )").config.most_step.v == 1e300);
  CHECK(with(R"("time_step_limit": [3, 2], )").bad.key == "time_step_limit");
  CHECK(with(R"("time_step_limit": [0, "2"], )").bad.key == "time_step_limit");
  CHECK(with(R"("time_step_limit": [{"__float__": "NaN"}, 2], )").bad.key == "time_step_limit");
  CHECK(with(R"("hidden_act": "gelu", )").bad.key == "hidden_act");
  CHECK(refused<mamba2_family>(R"("num_heads": 6, "n_groups": 4, )") == "n_groups");
  CHECK(refused<mamba2_family>(R"("num_heads": 6, "n_groups": 0, )") == "n_groups");
  const auto gguf = from_gguf<mamba2_family>(
      R"("ssm.time_step_rank": 6, "ssm.head_dim": 32, "ssm.state_size": 20, "ssm.group_count": 3, "ssm.conv_kernel": 3, )");
  CHECK(gguf.bad.what == trouble::none);
  CHECK((gguf.config.heads == 6 && gguf.config.head_dim == 32 && gguf.config.state == 20 &&
         gguf.config.ssm_groups == 3 && gguf.config.taps == 3));
  CHECK((gguf.config.rope.max_position == 128 && gguf.config.conv_bias));
}

TEST_CASE("families: granitemoehybrid: which layers attend, with a rope or without, and with experts or without") {
  const auto with = [](const std::string& more) { return from_hf<granite4_family>(R"("mamba_n_heads": 6, )" + more); };
  CHECK((with("").bad.what == trouble::none && with("").config.attends == layer_set{} &&
         with("").config.turned == layer_set{}));
  CHECK((with("").config.ssm_head_dim == 32 && with("").config.experts == 8 && with("").config.expert_hidden == 160));
  for (const char* key : {"layer_types", "layers_block_type"})
    for (const char* words : {R"(["mamba", "attention", "mamba", "attention"], )",
                              R"(["linear_attention", "full_attention", "linear_attention", "full_attention"], )"})
      CHECK(with('"' + std::string(key) + "\": " + words).config.attends == layer_set::of({1, 3}));
  CHECK(with(R"("layer_types": ["mamba", "conv", "mamba", "mamba"], )").bad.key == "layer_types");
  CHECK(with(R"("layer_types": ["mamba"], )").bad.key == "layer_types");
  CHECK(with(R"("position_embedding_type": "rope", "rope_theta": 5e5, )").config.rope.theta.v == 5e5);
  CHECK(with(R"("position_embedding_type": "rope", )").config.turned == layer_set::up_to(4));
  for (const char* word : {"\"nope\"", "null"}) {
    const auto c = with(std::string("\"position_embedding_type\": ") + word + ", \"rope_theta\": 5e5, ");
    CHECK((c.config.turned == layer_set{} && c.config.rope.theta.v == 1e4));  // nothing turns
  }
  CHECK(with(R"("position_embedding_type": "alibi", )").bad.key == "position_embedding_type");
  CHECK((with(R"("num_local_experts": 0, )").config.active == 0 &&
         with(R"("num_local_experts": 0, )").config.expert_hidden == 0));
  CHECK(with(R"("num_local_experts": 4, "num_experts_per_tok": 0, )").bad.key == "num_experts_per_tok");
  CHECK(with(R"("num_local_experts": 4, "num_experts_per_tok": 5, )").bad.key == "num_experts_per_tok");
  CHECK(with(R"("mamba_n_groups": 4, )").bad.key == "mamba_n_groups");
  CHECK((with(R"("mamba_d_head": "auto", )").bad.what == trouble::none &&
         with(R"("mamba_d_head": "auto", )").config.ssm_head_dim == 32));
  CHECK(with(R"("mamba_d_head": "wide", )").bad.key == "mamba_d_head");
  CHECK(with(R"("mamba_d_conv": "auto", )").bad.key == "mamba_d_conv");  // transformers knows no such word there
  CHECK(with(R"("embedding_multiplier": "auto", )").bad.key == "embedding_multiplier");
  const std::string ssm =
      R"("ssm.time_step_rank": 6, "ssm.head_dim": 32, "ssm.state_size": 20, "attention.head_count_kv": [0,2,0,0], )";
  const auto gguf = from_gguf<granite4_family>(
      ssm +
      R"("expert_shared_feed_forward_length": 40, "expert_count": 4, "expert_used_count": 2, "rope.scaling.finetuned": false, )");
  CHECK(gguf.bad.what == trouble::none);
  CHECK((gguf.config.hidden == 40 && gguf.config.expert_hidden == 160 && gguf.config.attends == layer_set::of({1}) &&
         gguf.config.turned == layer_set{}));
  const auto dense = from_gguf<granite4_family>(ssm).config;  // and rope unless it says otherwise
  CHECK((dense.hidden == 160 && dense.experts == 0 && dense.expert_hidden == 0 && dense.turned == layer_set::up_to(4)));
}

TEST_CASE("families: nemotron_h: what each layer is, in words or letters or GGUF's numbers") {
  const auto with = [](const std::string& more) { return from_hf<nemotron_h_family>(more); };
  const std::string words = R"("layers_block_type": ["mamba", "mlp", "attention", "moe", "mamba"], )";
  CHECK(with(words + R"("tie_word_embeddings": true, )").bad.key == "tie_word_embeddings");
  const std::string now =
      R"("layers_block_type": ["linear_attention", "mlp", "full_attention", "moe", "linear_attention"], )";
  for (const std::string& text : {words, now, std::string(R"("hybrid_override_pattern": "M-*EM", )")}) {
    const auto c = with(text);
    CHECK(c.bad.what == trouble::none);
    CHECK((c.config.layers == 5 && c.config.attends == layer_set::of({2}) && c.config.feeds == layer_set::of({1, 3}) &&
           c.config.sparse == layer_set::of({3})));
    CHECK((c.config.hidden == 160 && c.config.expert_hidden == 7688 && c.config.experts == 8));
  }
  CHECK(with("").bad.key == "layers_block_type");
  CHECK(with(R"("hybrid_override_pattern": "", )").bad.key == "hybrid_override_pattern");
  CHECK(with(R"("hybrid_override_pattern": "M-*Q", )").bad.key == "hybrid_override_pattern");
  CHECK(with(R"("layers_block_type": ["mamba", "conv"], )").bad.key == "layers_block_type");
  const std::string dense = R"("hybrid_override_pattern": "M-*", )";
  const auto unused =
      with(dense + R"("n_routed_experts": 64, "routed_scaling_factor": 2.5, )");  // there are no experts
  CHECK((unused.bad.what == trouble::none && unused.config.experts == 8 && unused.config.weights_scale.v == 1));
  for (const char* refusal : {R"("mlp_hidden_act": "silu")", R"("sliding_window": 8)", R"("moe_latent_size": 0)",
                              R"("attention_bias": true)"}) {
    const std::string key(refusal + 1, std::string_view(refusal).find('"', 1) - 1);
    CHECK(with(dense + refusal + ", ").bad.key == key);
  }
  CHECK(with(dense + R"("moe_latent_size": null, "sliding_window": null, )").bad.what == trouble::none);
  const auto latent = with(R"("hybrid_override_pattern": "M-*E", "moe_latent_size": 12, "mlp_bias": true, )");
  CHECK((latent.bad.what == trouble::none && latent.config.latent == 12 && latent.config.mlp_bias));
  CHECK(with(dense + R"("moe_latent_size": 12, )").config.latent == 0);  // there are no experts
  CHECK(with(dense + R"("num_key_value_heads": null, "head_dim": 20, )").config.head_dim == 20);
  CHECK(with(R"("hybrid_override_pattern": "ME", "n_group": 3, )").bad.key == "n_group");
  const std::string gguf =
      R"("ssm.time_step_rank": 6, "ssm.head_dim": 10, "ssm.state_size": 20, "attention.head_count_kv": [0,0,2,0], "feed_forward_length": [0,56,0,0], )";
  const auto c = from_gguf<nemotron_h_family>(gguf + "\"ssm.group_count\": 3, ");
  CHECK(c.bad.what == trouble::none);
  CHECK((c.config.attends == layer_set::of({2}) && c.config.feeds == layer_set::of({1}) &&
         c.config.sparse == layer_set{} && c.config.hidden == 56));
  const auto sparse = from_gguf<nemotron_h_family>(
      gguf + R"("ssm.group_count": 3, "expert_count": 6, "expert_used_count": 2, "expert_feed_forward_length": 20, )");
  CHECK((sparse.bad.what == trouble::none && sparse.config.sparse == layer_set::of({1}) && sparse.config.experts == 6));
}

TEST_CASE("families: a rope that lacks what its rule compares with") {
  const auto with = [](const std::string& rope, const std::string& more = "") {
    return refused<qwen2_family>(more + R"("rope_parameters": {"rope_theta": 1e4, )" + rope + "}, ");
  };
  const std::string length = R"("max_position_embeddings": 64, )";
  CHECK(with(R"("rope_type": "dynamic", "factor": 2)") == "max_position_embeddings");
  CHECK(with(R"("rope_type": "dynamic", "factor": 2)", length) == "");
  CHECK(with(R"("rope_type": "yarn", "factor": 2)") == "max_position_embeddings");
  CHECK(with(R"("rope_type": "yarn", "factor": 2, "original_max_position_embeddings": 32)") == "");
  CHECK(with(R"("rope_type": "yarn", "original_max_position_embeddings": 32)") == "max_position_embeddings");
  CHECK(refused<glm4_family>(R"("head_dim": 2, "partial_rotary_factor": 0.25, )") ==
        "partial_rotary_factor");  // nothing
  // Beside the rope it comes first.
  const std::string both =
      R"("rope_parameters": {"rope_type": "yarn", "factor": 2, "original_max_position_embeddings": 8},
    "original_max_position_embeddings": 16, )";
  CHECK(from_hf<qwen2_family>(length + both).config.rope.original == 16);
  // There is place for one rope's lists.
  std::string ones = "[1";
  for (u32 i = 1; i < from_hf<gemma3_family>("").config.head_dim / 2; ++i) ones += ", 1";
  const std::string lists =
      R"("rope_type": "longrope", "long_factor": )" + ones + R"(], "short_factor": )" + ones + "]";
  CHECK(refused<gemma3_family>(length +
                               R"("rope_parameters": {"full_attention": {"rope_type": "default"}}, )"
                               R"("rope_scaling": {"rope_type": "linear", "factor": 2}, )") == "rope_scaling");
  CHECK(refused<gemma3_family>(length + R"("rope_parameters": {"full_attention": {)" + lists + "}}, ") == "");
  CHECK(refused<gemma3_family>(length + R"("rope_parameters": {"sliding_attention": {)" + lists + "}}, ") ==
        "rope_type");
  CHECK(from_hf<gemma3_family>(length +
                               R"("rope_parameters": {"sliding_attention": {"rope_type": "yarn", "factor": 2}}, )")
            .config.local_rope.original == 64);
}

TEST_CASE("families: what transformers takes a key for that a config leaves out") {
  const auto heads = [](const std::string& more) {
    return R"({"vocab_size": 384, "hidden_size": 96, "intermediate_size": 160, "num_hidden_layers": 4, )" + more + "}";
  };
  const auto kv_heads = [&](auto of, const std::string& more) {
    const std::string text = heads(more);
    return read_config<decltype(of)>(json{text}, naming::hf, nullptr).config.kv_heads;
  };
  CHECK(kv_heads(qwen2_family{}, R"("num_attention_heads": 64)") == 32);
  CHECK(kv_heads(qwen2_family{}, R"("num_attention_heads": 64, "num_key_value_heads": null)") == 64);
  CHECK(kv_heads(mixtral_family{}, R"("num_attention_heads": 16)") == 8);
  CHECK(kv_heads(smollm3_family{}, R"("num_attention_heads": 16)") == 4);
  CHECK(from_hf<family<"qwen3">>("").config.rope.theta.v == 1e4);
  CHECK(from_hf<qwen3_5_family>("").config.rope.theta.v == 1e4);
  CHECK(
      from_hf<phi3_family>(R"("max_position_embeddings": 8192, "rope_scaling": {"type": "longrope", "long_factor": [1],
    "short_factor": [1]}, )")
          .config.rope.original == 4096);
  // A key is named as the family spells it.
  CHECK(refused<glm4_moe_family>(R"("moe_intermediate_size": 8, "num_experts_per_tok": 1, )") == "n_routed_experts");
  // Of Granite 4's mixers cke knows the usual width.
  CHECK(refused<granite4_family>(R"("mamba_n_heads": 8, "mamba_expand": 3, )") == "mamba_expand");
  CHECK(refused<granite4_family>(R"("mamba_n_heads": 8, "mamba_expand": 3, "mamba_d_head": 36, )") == "");
}

TEST_CASE("families: what GGUF leaves out") {
  const gemma3_config g3 =
      from_gguf<gemma3_family>("\"attention.sliding_window\": 7, \"rope.freq_base\": 1e6, ").config;
  CHECK(g3.query_scalar.v == 24);
  CHECK(g3.window == 7);
  CHECK(g3.local_rope.theta.v == 1e4);
  CHECK(g3.sliding == layer_set::all_but_every(6).first(4));
  CHECK(from_gguf<gemma3_family>("\"rope.freq_base_swa\": 2e4, ").config.local_rope.theta.v == 2e4);
  CHECK(from_gguf<gemma3_family>("\"attention.sliding_window_pattern\": 2, ").config.sliding ==
        layer_set::all_but_every(2).first(4));
  CHECK(from_gguf<gemma3_family>("\"attention.sliding_window_pattern\": \"\", ").bad.what ==
        trouble::not_a_number);  // an array
  CHECK(from_gguf<gemma2_family>("\"block_count\": 46, ").config.query_scalar.v == 16);
  // Phi-4 sees everything: null in a config.json, 0 in the GGUF files of llama.cpp's converter.
  CHECK(from_gguf<phi3_family>("\"attention.sliding_window\": 0, ").config.window == everything);
  CHECK(from_gguf<phi3_family>("\"attention.sliding_window\": 0, ").bad.what == trouble::none);
  CHECK(from_gguf<phi3_family>("\"attention.sliding_window\": -1, ").bad.key == "attention.sliding_window");
  CHECK(refused<phi3_family>(R"("sliding_window": 0, )") == "sliding_window");
  const glm4_config glm = from_gguf<glm4_family>("\"rope.dimension_count\": 12, \"attention_bias\": true, ").config;
  CHECK(glm.rope.dims == 12);
  CHECK(glm.rope.pairs == pairing::adjacent);
  CHECK(from_gguf<granite_family>("").config.attention_multiplier.v == 0);  // head_dim^-1/2
}
