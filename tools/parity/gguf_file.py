# SPDX-License-Identifier: MIT
"""gguf_file.py: writes models as GGUF, the way llama.cpp's converter does."""

import math
from dataclasses import dataclass

import gguf
import numpy as np

TYPES = {"F32": (gguf.GGMLQuantizationType.F32, gguf.LlamaFileType.ALL_F32),
         "F16": (gguf.GGMLQuantizationType.F16, gguf.LlamaFileType.MOSTLY_F16),
         "BF16": (gguf.GGMLQuantizationType.BF16, gguf.LlamaFileType.MOSTLY_BF16),
         "Q8_0": (gguf.GGMLQuantizationType.Q8_0, gguf.LlamaFileType.MOSTLY_Q8_0)}

# The architecture in GGUF where it is not the model_type.
ARCHITECTURES = {"gemma3_text": "gemma3", "gemma4_text": "gemma4", "deepseek_v2": "deepseek2", "deepseek_v3": "deepseek2", "mistral": "llama", "mixtral": "llama", "qwen2_moe": "qwen2moe",
                 "qwen3_moe": "qwen3moe", "glm4_moe": "glm4moe", "lfm2_moe": "lfm2moe", "qwen3_5_text": "qwen35", "qwen3_5_moe_text": "qwen35moe",
                 "qwen3_next": "qwen3next", "granitemoehybrid": "granitehybrid"}
GLOBAL_NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "model.embedding_norm": "token_embd_norm",
                "model.embed_tokens_per_layer": "per_layer_token_embd", **{f"{root}.{name}": short for root in ("backbone", "model") for name, short in (("embeddings", "token_embd"), ("norm_f", "output_norm"))},
                "model.per_layer_model_projection": "per_layer_model_proj",
                "model.per_layer_projection_norm": "per_layer_proj_norm", "lm_head": "output"}
BLOCK_NAMES = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
               "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
               "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
               "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
               "self_attn.qkv_proj": "attn_qkv", "mlp.gate_up_proj": "ffn_up",
               "mlp.gate": "ffn_gate_inp", "block_sparse_moe.router": "ffn_gate_inp",
               "mlp.gate.e_score_correction": "exp_probs_b", "mlp.shared_expert_gate": "ffn_gate_inp_shexp", "mlp.experts.gate_proj": "ffn_gate_exps",
               "mlp.experts.up_proj": "ffn_up_exps", "mlp.experts.down_proj": "ffn_down_exps",
               "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
AROUND = {"post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
          "post_feedforward_layernorm": "post_ffw_norm"}
SHARED = {f"mlp.shared_expert{s}.{part}_proj": f"ffn_{part}_shexp" for s in ("", "s") for part in ("gate", "up", "down")}
LFM2 = {"operator_norm": "attn_norm", "ffn_norm": "ffn_norm", "self_attn.out_proj": "attn_output", "self_attn.q_layernorm": "attn_q_norm",
        "self_attn.k_layernorm": "attn_k_norm", "conv.in_proj": "shortconv.in_proj", "conv.conv": "shortconv.conv",
        "conv.out_proj": "shortconv.out_proj", "feed_forward.w1": "ffn_gate", "feed_forward.w2": "ffn_down", "feed_forward.w3": "ffn_up",
        "feed_forward.gate": "ffn_gate_inp", "feed_forward.expert": "exp_probs_b"}
LFM2 |= {f"feed_forward.experts.{part}_proj": f"ffn_{part}_exps" for part in ("gate", "up", "down")}
DELTA = {"post_attention_layernorm": "post_attention_norm", "linear_attn.in_proj_qkv": "attn_qkv", "linear_attn.in_proj_z": "attn_gate",
         "linear_attn.in_proj_a": "ssm_alpha", "linear_attn.in_proj_b": "ssm_beta", "linear_attn.in_proj_ba": "ssm_ba",
         "linear_attn.conv1d": "ssm_conv1d", "linear_attn.A_log": "ssm_a", "linear_attn.dt_bias": "ssm_dt", "linear_attn.norm": "ssm_norm",
         "linear_attn.out_proj": "ssm_out"} | SHARED
LATENT = SHARED | {"self_attn.q_a_proj": "attn_q_a", "self_attn.q_a_layernorm": "attn_q_a_norm", "self_attn.q_b_proj": "attn_q_b",
                   "self_attn.kv_a_proj_with_mqa": "attn_kv_a_mqa", "self_attn.kv_a_layernorm": "attn_kv_a_norm",
                   "self_attn.k_b_proj": "attn_k_b", "self_attn.v_b_proj": "attn_v_b"}
GRANITE_EXPERTS = {f"block_sparse_moe.experts.{part}_proj": f"ffn_{part}_exps" for part in ("gate", "up", "down")}
MAMBA = {f"{mixer}.{name}": f"ssm_{short}" for mixer in ("mixer", "mamba")
         for name, short in (("in_proj", "in"), ("conv1d", "conv1d"), ("dt", "dt"), ("norm", "norm"), ("out_proj", "out"))} | {"norm": "attn_norm"}
NEMOTRON = MAMBA | {"mixer.q_proj": "attn_q", "mixer.k_proj": "attn_k", "mixer.v_proj": "attn_v", "mixer.o_proj": "attn_output",
                    "mixer.gate": "ffn_gate_inp", "mixer.gate.e_score_correction": "exp_probs_b", "mixer.up_proj": "ffn_up", "mixer.down_proj": "ffn_down",
                    "mixer.fc1_latent_proj": "ffn_latent_down", "mixer.fc2_latent_proj": "ffn_latent_up"}
NEMOTRON |= {f"mixer.{kind}.{part}_proj": f"ffn_{part}_{short}" for kind, short in (("experts", "exps"), ("shared_experts", "shexp")) for part in ("up", "down")}
OWN_NAMES = {"mamba2": MAMBA, "nemotron_h": NEMOTRON, "granitemoehybrid": MAMBA | SHARED | GRANITE_EXPERTS,
             "deepseek_v2": LATENT, "deepseek_v3": LATENT,
             "qwen3_5_text": DELTA, "qwen3_5_moe_text": DELTA, "qwen3_next": DELTA, "qwen2_moe": SHARED, "lfm2": LFM2, "lfm2_moe": LFM2, "glm4_moe": SHARED | {"post_attention_layernorm": "post_attention_norm"},
             "granitemoe": GRANITE_EXPERTS,
             "gemma2": AROUND, "gemma3_text": AROUND, "olmo2": AROUND,
             "gemma4_text": AROUND | {
                 "layer_scalar": "layer_output_scale", "per_layer_input_gate": "inp_gate", "per_layer_projection": "proj",
                 "post_per_layer_input_norm": "post_norm", "router.proj": "ffn_gate_inp", "router.scale": "=ffn_gate_inp.scale",
                 "router.per_expert_scale": "=ffn_down_exps.scale", "experts.gate_up_proj": "ffn_gate_up_exps",
                 "experts.down_proj": "ffn_down_exps", "pre_feedforward_layernorm_2": "pre_ffw_norm_2",
                 "post_feedforward_layernorm_1": "post_ffw_norm_1", "post_feedforward_layernorm_2": "post_ffw_norm_2"},
             "glm4": {"post_self_attn_layernorm": "post_attention_norm",
                      "post_mlp_layernorm": "post_ffw_norm"}}
LATENT_FAMILIES = ("deepseek_v2", "deepseek_v3")
FOLDED_NORMS = (".mixer.norm.weight", ".mamba.norm.weight")
STATE_SPACES = ("mamba2", "granitemoehybrid", "nemotron_h")
PAIRWISE = ("llama", "mistral", "mixtral", "granite", "granitemoe", "granitemoehybrid", "smollm3")  # rows of q and k are reordered
ROUTERS = ("router.proj.weight", "mlp.gate.weight", "feed_forward.gate.weight", "shared_expert_gate.weight", "block_sparse_moe.router.weight", "mixer.gate.weight")  # stay float32
NORMS_PLUS_ONE = ("gemma2", "gemma3_text", "qwen3_5_text", "qwen3_5_moe_text", "qwen3_next")


@dataclass
class Vocabulary:
    """A byte-level BPE vocabulary as GGUF stores it; `types` has one gguf.TokenType per token."""
    pre: str
    tokens: list[str]
    types: list[int]
    merges: list[str]
    bos: int
    eos: int


def tensor_name(name, family=""):
    """model.layers.3.self_attn.q_proj.weight -> blk.3.attn_q.weight"""
    stem, _, suffix = name.rpartition(".")
    if suffix in ("A_log", "D"):  # no suffix
        return "blk." + name.split(".")[2] + (".ssm_a" if suffix == "A_log" else ".ssm_d")
    if stem in GLOBAL_NAMES:
        return f"{GLOBAL_NAMES[stem]}.{suffix}"
    layer, _, inner = stem.removeprefix("model.layers.").removeprefix("backbone.layers.").partition(".")
    known = (BLOCK_NAMES | OWN_NAMES.get(family, {}))[inner]
    return f"blk.{layer}.{known[1:]}" if known.startswith("=") else f"blk.{layer}.{known}.{suffix}"


def pairwise_rows(weight, heads):
    """The rows of a q or k projection with the two rows of every rotated pair side by side."""
    return (weight.reshape(heads, 2, -1, *weight.shape[1:]).swapaxes(1, 2)).reshape(weight.shape)


def lfm2_width(config):
    """The width of the MLP, which the config only hints at."""
    if not config.block_auto_adjust_ff_dim:
        return config.intermediate_size
    wide, step = int(config.block_ffn_dim_multiplier * int(2 * config.intermediate_size / 3)), config.block_multiple_of
    return (wide + step - 1) // step * step


def write_state_space_metadata(writer, config):
    """That of mamba2 and of hybrids with it, where layers have each their own kind."""
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

    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(vocabulary.pre)
    writer.add_token_list(vocabulary.tokens)
    writer.add_token_types(vocabulary.types)
    writer.add_token_merges(vocabulary.merges)
    writer.add_bos_token_id(vocabulary.bos)
    writer.add_eos_token_id(vocabulary.eos)
    writer.add_add_bos_token(False)


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
    whole = rope["rope_type"] == "proportional"  # a tensor says which part
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
        if rope.get("mscale_all_dim"):  # and mscale is the same
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
    """What differs from layer to layer; returns the head_dim of full ones."""
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
        if config.model_type != "qwen3_next":
            writer.add_rope_dimension_sections(config.rope_parameters["mrope_section"] + [0])
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


def by_expert_role(state):
    """The experts' gate and up, one tensor in transformers 5, as two; all three as "NAME.weight"."""
    out = {}
    for name, weight in state.items():
        if name.endswith("mlp.experts.gate_up_proj") or name.endswith("block_sparse_moe.experts.gate_up_proj"):
            gate, up = weight.chunk(2, dim=1)
            stem = name.removesuffix("gate_up_proj")
            out |= {f"{stem}gate_proj.weight": gate.contiguous(), f"{stem}up_proj.weight": up.contiguous()}
        else:
            name = name.replace("e_score_correction_bias", "e_score_correction.bias").replace("expert_bias", "expert.bias")
            out[name if name.endswith((".weight", ".bias")) else f"{name}.weight"] = weight
    return out


def tiled(weight, config, axis, size):
    """Value heads, `size` numbers each along an axis, with those of one key head apart instead of side by side."""
    shape = weight.shape
    parts = shape[:axis] + (config.linear_num_key_heads, -1, size) + shape[axis + 1:]
    return weight.reshape(parts).swapaxes(axis, axis + 1).reshape(shape)


def linear_attention(state, config):
    """The tensors of gated delta nets as the converter leaves them; q, k, v and the gate apart from one another."""
    keys, dim = config.linear_num_key_heads * config.linear_key_head_dim, config.linear_value_head_dim
    out = {}
    for name, weight in state.items():
        part = name.partition(".linear_attn.")[2].removesuffix(".weight")
        if part == "in_proj_qkvz":
            heads = weight.reshape(config.linear_num_key_heads, -1, weight.shape[-1])
            ends = np.cumsum([config.linear_key_head_dim] * 2 + [dim * config.linear_num_value_heads // config.linear_num_key_heads])
            q, k, v, z = (x.reshape(-1, weight.shape[-1]) for x in np.split(heads, ends, axis=1))
            out |= {name.replace("qkvz", "qkv"): np.concatenate([q, k, v]), name.replace("qkvz", "z"): z}
            continue
        if part == "A_log":
            weight, name = -np.exp(weight), name.removesuffix(".weight")
        if part == "dt_bias":
            name = name.removesuffix(".weight") + ".bias"
        if part == "conv1d":
            weight = weight.squeeze(1)
        if config.model_type != "qwen3_next":
            if part in ("in_proj_qkv", "conv1d"):
                weight = np.concatenate([weight[:2 * keys], tiled(weight[2 * keys:], config, 0, dim)])
            elif part in ("in_proj_z", "in_proj_a", "in_proj_b", "A_log", "dt_bias", "out_proj"):
                weight = tiled(weight, config, int(part == "out_proj"), dim if part in ("in_proj_z", "out_proj") else 1)
        out[name] = weight
    return out


def state_space(state, config):
    """The tensors of mamba2 mixers, and of Granite's mlp beside them, as the converter leaves them."""
    mlp = "mlp.shared_experts" if getattr(config, "num_local_experts", 0) else "mlp"
    out = {}
    for name, weight in state.items():
        stem, _, part = name.removesuffix(".weight").rpartition(".")
        if part in ("A_log", "D"):
            name, weight = f"{stem}.{part}", (-np.exp(weight) if part == "A_log" else weight).reshape(-1, 1)
        elif part == "dt_bias":
            name = f"{stem}.dt.bias"
        elif name.endswith("conv1d.weight"):
            weight = weight.squeeze(1)
        elif name.endswith(FOLDED_NORMS):
            weight = weight.reshape(getattr(config, "mamba_n_groups", None) or config.n_groups, -1)
        elif part == "input_linear":
            for half, rows in zip(("gate", "up"), np.split(weight, 2)):
                out[f"{stem.removesuffix('shared_mlp')}{mlp}.{half}_proj.weight"] = rows
            continue
        elif part == "output_linear":
            name = f"{stem.removesuffix('shared_mlp')}{mlp}.down_proj.weight"
        out[name] = weight
    return out


def by_head(config, state):
    """A latent's matrix of keys and values as two, the keys' the other way round."""
    out = {}
    for name, weight in state.items():
        if name.endswith("kv_b_proj.weight"):
            heads = weight.reshape(config.num_attention_heads, -1, config.kv_lora_rank)
            stem = name.removesuffix("kv_b_proj.weight")
            out[f"{stem}k_b_proj.weight"] = heads[:, :config.qk_nope_head_dim].swapaxes(1, 2)
            out[f"{stem}v_b_proj.weight"] = heads[:, config.qk_nope_head_dim:]
        else:
            out[name] = weight
    return out


def layers_ahead(config, tensors):
    """{name: array}: the layers behind the last that only look ahead. Nobody reads them here, but llama.cpp wants them."""
    last, out = f"blk.{config.num_hidden_layers - 1}.", {}
    for n in range(getattr(config, "num_mtp_layers", 0)):
        mine = f"blk.{config.num_hidden_layers + n}."
        out |= {mine + name.removeprefix(last): weight for name, weight in tensors.items() if name.startswith(last)}
        dim = config.hidden_size
        out |= {f"{mine}nextn.eh_proj.weight": np.ones((dim, 2 * dim), np.float32)}
        out |= {f"{mine}nextn.{name}norm.weight": np.ones(dim, np.float32) for name in ("e", "h")}
    return out


def proportional_divisors(config):
    """float32 [head_dim / 2] of full layers: ones, and what stops the rest of the rotations."""
    head_dim = config.per_layer_config[config.layer_types.index("full_attention")].head_dim
    turning = int(head_dim * config.rope_parameters["full_attention"]["partial_rotary_factor"] / 2)
    return np.array([1.0] * turning + [1e30] * (head_dim // 2 - turning), np.float32)


def llama3_divisors(config):
    """float32 [head_dim / 2]: what llama3 scaling divides each frequency by (rope_freqs.weight)."""
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    scaled, _ = ROPE_INIT_FUNCTIONS["llama3"](config)
    exponent = np.arange(0, config.head_dim, 2, dtype=np.float32) / config.head_dim
    return (config.rope_parameters["rope_theta"] ** -exponent / scaled.numpy()).astype(np.float32)


def write(path, model, vocabulary, type_name):
    """Writes `model` to `path`; returns {name: float32 array}, the weights that a reader will see.

    Matrices take the type `type_name`; vectors stay float32.
    """
    config = model.config
    kind = TYPES[type_name][0]
    family = config.model_type
    sparse = family == "nemotron_h" and "moe" in config.layer_types
    writer = gguf.GGUFWriter(path, "nemotron_h_moe" if sparse else ARCHITECTURES.get(family, family))
    write_metadata(writer, config, vocabulary, type_name)
    rope_type = (getattr(config, "rope_parameters", None) or {}).get("rope_type")
    if rope_type == "llama3":
        writer.add_tensor("rope_freqs.weight", llama3_divisors(config))
    if family == "gemma4_text":
        writer.add_tensor("rope_freqs.weight", proportional_divisors(config))
    if rope_type == "longrope":
        for length in ("long", "short"):
            writer.add_tensor(f"rope_factors_{length}.weight",
                              np.array(config.rope_parameters[f"{length}_factor"], np.float32))

    stored, written = {}, {}
    state = {name: parameter.numpy() for name, parameter in by_expert_role(model.state_dict()).items()}
    if hasattr(config, "linear_num_key_heads"):
        state = linear_attention(state, config)
    if family in STATE_SPACES:
        state = state_space(state, config)
    if family in LATENT_FAMILIES:
        state = by_head(config, state)
    for name, weight in state.items():
        if name.endswith((".A_log", ".D") + FOLDED_NORMS):
            encoded = stored[name] = weight
        elif weight.ndim == 1 or name.endswith(ROUTERS) or ".conv.conv." in name or ".conv1d." in name:
            weight = weight.squeeze()
            encoded, stored[name] = weight, weight
        else:
            encoded = gguf.quants.quantize(weight, kind)
            stored[name] = gguf.quants.dequantize(encoded, kind)
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        if family in PAIRWISE and ".q_proj." in name:
            encoded = pairwise_rows(encoded, config.num_attention_heads)
        if family in PAIRWISE and ".k_proj." in name:
            encoded = pairwise_rows(encoded, config.num_key_value_heads)
        if family in NORMS_PLUS_ONE and name.endswith("norm.weight") and not name.endswith("linear_attn.norm.weight"):
            encoded = encoded + 1
        written[tensor_name(name, family)] = weight
        writer.add_tensor(tensor_name(name, family), np.ascontiguousarray(encoded),
                          raw_dtype=None if encoded.dtype == np.float32 else kind)
    for name, weight in layers_ahead(config, written).items():
        writer.add_tensor(name, np.ascontiguousarray(weight))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return stored
