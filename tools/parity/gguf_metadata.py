# SPDX-License-Identifier: MIT
"""gguf_metadata.py: GGUF metadata of a model, by family, and of its vocabulary."""

import math
from dataclasses import dataclass

import gguf

from gguf_names import LATENT_FAMILIES, STATE_SPACES

TYPES = {"F32": (gguf.GGMLQuantizationType.F32, gguf.LlamaFileType.ALL_F32),
         "F16": (gguf.GGMLQuantizationType.F16, gguf.LlamaFileType.MOSTLY_F16),
         "BF16": (gguf.GGMLQuantizationType.BF16, gguf.LlamaFileType.MOSTLY_BF16),
         "Q8_0": (gguf.GGMLQuantizationType.Q8_0, gguf.LlamaFileType.MOSTLY_Q8_0)}


@dataclass
class Vocabulary:
    """A vocabulary as GGUF stores it: a byte-level BPE, or pieces with scores; `types` has one gguf.TokenType per token."""
    pre: str
    tokens: list[str]
    types: list[int]
    merges: list[str]
    bos: int | None
    eos: int
    scores: list[float] | None = None  # of pieces, which begin with <bos>
    template: str | None = None


def write_metadata(writer, config, vocabulary, type_name):
    writer.add_name(f"random {config.model_type}")
    writer.add_file_type(TYPES[type_name][1])
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    writer.add_vocab_size(config.vocab_size)
    writer.add_embedding_length(config.hidden_size)
    if config.model_type in STATE_SPACES:
        writer.add_block_count(config.num_hidden_layers)
        write_state_space_metadata(writer, config)
    else:
        write_attention_metadata(writer, config)
        write_own_metadata(writer, config)

    write_vocabulary(writer, vocabulary)


def write_vocabulary(writer, vocabulary):
    writer.add_tokenizer_model("gpt2" if vocabulary.scores is None else "llama")
    writer.add_tokenizer_pre(vocabulary.pre)
    writer.add_token_list(vocabulary.tokens)
    writer.add_token_types(vocabulary.types)
    if vocabulary.scores is None:
        writer.add_token_merges(vocabulary.merges)
    else:
        writer.add_token_scores(vocabulary.scores)
        writer.add_add_space_prefix(False)
    if vocabulary.bos is not None:
        writer.add_bos_token_id(vocabulary.bos)
    writer.add_eos_token_id(vocabulary.eos)
    writer.add_add_bos_token(vocabulary.scores is not None)
    if vocabulary.template:
        writer.add_chat_template(vocabulary.template)


def write_attention_metadata(writer, config):
    rope = config.rope_parameters
    rope = rope.get("full_attention", rope)
    if config.model_type == "gemma4_text":
        head_dim = config.per_layer_config[config.layer_types.index("sliding_attention")].head_dim
    elif config.model_type in LATENT_FAMILIES:
        head_dim = config.kv_lora_rank + config.qk_rope_head_dim
    else:
        head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    writer.add_context_length(config.max_position_embeddings)
    writer.add_block_count(config.num_hidden_layers + getattr(config, "num_mtp_layers", 0))
    writer.add_head_count(config.num_attention_heads)
    kinds = getattr(config, "layer_types", None) or []
    if config.model_type == "gemma4_text":
        head_dim = write_layers_of_gemma4(writer, config, head_dim)
    else:
        writer.add_feed_forward_length(lfm2_width(config) if config.model_type == "lfm2" else getattr(config, "intermediate_size", 0))
    if "conv" in kinds:
        writer.add_head_count_kv([config.num_key_value_heads if kind != "conv" else 0 for kind in kinds])
        writer.add_shortconv_l_cache(config.conv_L_cache)
    elif config.model_type != "gemma4_text":
        writer.add_head_count_kv(1 if config.model_type in LATENT_FAMILIES else config.num_key_value_heads)
    writer.add_key_length(head_dim)
    writer.add_value_length(config.kv_lora_rank if config.model_type in LATENT_FAMILIES else head_dim)
    writer.add_layer_norm_rms_eps(getattr(config, "norm_eps", None) or config.rms_norm_eps)
    writer.add_rope_freq_base(rope["rope_theta"])
    whole = rope["rope_type"] == "proportional"  # a tensor holds the fraction
    if config.model_type in LATENT_FAMILIES:
        head_dim = config.qk_rope_head_dim
    writer.add_rope_dimension_count(int(head_dim * (1 if whole else rope.get("partial_rotary_factor", 1))))
    if rope["rope_type"] == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(rope["factor"])
    elif rope["rope_type"] == "yarn":
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(rope["factor"])
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
        if rope.get("mscale_all_dim"):  # mscale is equal
            writer.add_rope_scaling_yarn_log_mul(0.1 * rope["mscale_all_dim"])
    elif rope["rope_type"] == "longrope":
        original = config.original_max_position_embeddings
        writer.add_rope_scaling_orig_ctx_len(original)
        longer = config.max_position_embeddings / original
        writer.add_rope_scaling_attn_factors(
            math.sqrt(1 + math.log(longer) / math.log(original)) if longer > 1 else 1.0)
    elif rope["rope_type"] not in ("default", "llama3", "proportional"):
        raise ValueError(f"rope_type {rope['rope_type']} is not written to GGUF here")


def write_layers_of_gemma4(writer, config, head_dim):
    """The per-layer settings; returns the head_dim of layers with full attention."""
    layers = range(config.num_hidden_layers)
    full = [kind == "full_attention" for kind in config.layer_types]
    own = config.num_hidden_layers - config.num_kv_shared_layers
    wide = config.use_double_wide_mlp
    hidden = [config.intermediate_size * (2 if wide and i >= own else 1) for i in layers]
    writer.add_feed_forward_length(hidden if wide else config.intermediate_size)
    heads = [config.per_layer_config[i].num_key_value_heads for i in layers]
    writer.add_head_count_kv(heads if config.attention_k_eq_v else heads[0])
    writer.add_key_length_swa(head_dim)
    writer.add_value_length_swa(head_dim)
    writer.add_rope_dimension_count_swa(head_dim)
    writer.add_rope_freq_base_swa(config.rope_parameters["sliding_attention"]["rope_theta"])
    writer.add_sliding_window_pattern([not f for f in full])
    writer.add_shared_kv_layers(config.num_kv_shared_layers)
    writer.add_embedding_length_per_layer_input(config.hidden_size_per_layer_input)
    if config.final_logit_softcapping:
        writer.add_final_logit_softcapping(config.final_logit_softcapping)
    if config.enable_moe_block:
        writer.add_expert_count(config.num_experts)
        writer.add_expert_used_count(config.top_k_experts)
        writer.add_expert_feed_forward_length(config.moe_intermediate_size)
    return config.per_layer_config[full.index(True)].head_dim


def write_own_metadata(writer, config):
    if config.model_type in ("gemma2", "gemma3_text", "gemma4_text", "phi3") and config.sliding_window:
        writer.add_sliding_window(config.sliding_window)
    if config.model_type == "gemma2":
        writer.add_attn_logit_softcapping(config.attn_logit_softcapping)
        writer.add_final_logit_softcapping(config.final_logit_softcapping)
    if getattr(config, "num_experts_per_tok", None):
        writer.add_expert_count(getattr(config, "num_experts", None) or config.num_local_experts)
        writer.add_expert_used_count(config.num_experts_per_tok)
    if hasattr(config, "moe_intermediate_size") and config.model_type != "gemma4_text":
        writer.add_expert_feed_forward_length(config.moe_intermediate_size)
    if hasattr(config, "linear_num_key_heads"):
        writer.add_ssm_conv_kernel(config.linear_conv_kernel_dim)
        writer.add_ssm_state_size(config.linear_key_head_dim)
        writer.add_ssm_group_count(config.linear_num_key_heads)
        writer.add_ssm_time_step_rank(config.linear_num_value_heads)
        writer.add_ssm_inner_size(config.linear_value_head_dim * config.linear_num_value_heads)
        writer.add_array(f"{writer.arch}.attention.recurrent_layers", [kind == "linear_attention" for kind in config.layer_types])
    if config.model_type != "qwen3_next" and "mrope_section" in (getattr(config, "rope_parameters", None) or {}):
        writer.add_rope_dimension_sections(config.rope_parameters["mrope_section"] + [0])
    if hasattr(config, "deepstack_layers"):
        writer.add_num_deepstack_layers(config.deepstack_layers)
    if hasattr(config, "shared_expert_intermediate_size"):
        writer.add_expert_shared_feed_forward_length(config.shared_expert_intermediate_size)
    if config.model_type == "glm4_moe":
        writer.add_expert_shared_count(config.n_shared_experts)
        writer.add_leading_dense_block_count(config.first_k_dense_replace)
        writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
        writer.add_expert_weights_scale(config.routed_scaling_factor)
        writer.add_expert_weights_norm(config.norm_topk_prob)
        writer.add_nextn_predict_layers(config.num_mtp_layers)
    if config.model_type == "lfm2_moe":
        writer.add_leading_dense_block_count(config.num_dense_layers)
        writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    if config.model_type in LATENT_FAMILIES:
        writer.add_key_length_mla(config.qk_nope_head_dim + config.qk_rope_head_dim)
        writer.add_value_length_mla(config.v_head_dim)
        writer.add_kv_lora_rank(config.kv_lora_rank)
        if config.q_lora_rank:
            writer.add_q_lora_rank(config.q_lora_rank)
        sigmoid = config.model_type == "deepseek_v3"
        writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID if sigmoid else gguf.ExpertGatingFuncType.SOFTMAX)
        writer.add_expert_group_count(config.n_group)
        writer.add_expert_group_used_count(config.topk_group)
        writer.add_expert_shared_count(config.n_shared_experts)
        writer.add_leading_dense_block_count(config.first_k_dense_replace)
        writer.add_expert_weights_scale(config.routed_scaling_factor)
        writer.add_expert_weights_norm(config.norm_topk_prob)
    if config.model_type in ("granite", "granitemoe"):
        write_multipliers(writer, config)


def write_multipliers(writer, config):
    writer.add_attention_scale(config.attention_multiplier)
    writer.add_embedding_scale(config.embedding_multiplier)
    writer.add_residual_scale(config.residual_multiplier)
    writer.add_logit_scale(config.logits_scaling)


def write_state_space_metadata(writer, config):
    """Metadata of mamba2 and of hybrids with it, whose layers differ in kind."""
    own = {"mamba2": ("num_heads", "head_dim", "state_size", "n_groups", "conv_kernel"),
           "nemotron_h": ("mamba_num_heads", "mamba_head_dim", "ssm_state_size", "n_groups", "conv_kernel"),
           "granitemoehybrid": ("mamba_n_heads", "mamba_d_head", "mamba_d_state", "mamba_n_groups", "mamba_d_conv")}
    heads, head_dim, state, groups, taps = (getattr(config, name) for name in own[config.model_type])
    writer.add_ssm_conv_kernel(taps)
    writer.add_ssm_state_size(state)
    writer.add_ssm_group_count(groups)
    writer.add_ssm_time_step_rank(heads)
    writer.add_ssm_inner_size(heads * head_dim)
    if config.model_type == "mamba2":
        writer.add_context_length(2 ** 20)
        writer.add_feed_forward_length(0)
        writer.add_head_count(0)
        writer.add_layer_norm_rms_eps(config.layer_norm_epsilon)
        return
    kinds = config.layer_types
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    writer.add_context_length(config.max_position_embeddings)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv([config.num_key_value_heads if kind == "full_attention" else 0 for kind in kinds])
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    if config.model_type == "granitemoehybrid":
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
        writer.add_feed_forward_length(config.intermediate_size if config.num_local_experts else config.shared_intermediate_size)
        writer.add_expert_shared_feed_forward_length(config.shared_intermediate_size)
        writer.add_rope_scaling_finetuned(config.position_embedding_type == "rope")
        writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
        writer.add_rope_dimension_count(head_dim)
        write_multipliers(writer, config)
        if config.num_local_experts:
            writer.add_expert_count(config.num_local_experts)
            writer.add_expert_used_count(config.num_experts_per_tok)
        return
    writer.add_layer_norm_eps(config.layer_norm_epsilon)
    writer.add_layer_norm_rms_eps(config.layer_norm_epsilon)
    hidden = config.moe_intermediate_size if "moe" in kinds else config.intermediate_size
    writer.add_feed_forward_length([hidden if kind in ("mlp", "moe") else 0 for kind in kinds])
    if "moe" in kinds:
        writer.add_expert_count(config.n_routed_experts)
        writer.add_expert_used_count(config.num_experts_per_tok)
        writer.add_expert_feed_forward_length(config.moe_intermediate_size)
        writer.add_expert_shared_feed_forward_length(config.moe_shared_expert_intermediate_size)
        writer.add_expert_shared_count(config.n_shared_experts)
        writer.add_expert_weights_norm(config.norm_topk_prob)
        writer.add_expert_weights_scale(config.routed_scaling_factor)
        writer.add_expert_group_count(config.n_group)
    if config.moe_latent_size:
        writer.add_moe_latent_size(config.moe_latent_size)


def lfm2_width(config):
    """The width of the MLP, which the config determines indirectly."""
    if not config.block_auto_adjust_ff_dim:
        return config.intermediate_size
    wide, step = int(config.block_ffn_dim_multiplier * int(2 * config.intermediate_size / 3)), config.block_multiple_of
    return (wide + step - 1) // step * step
