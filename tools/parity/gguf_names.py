# SPDX-License-Identifier: MIT
"""gguf_names.py: llama.cpp's names of families and tensors."""

# # GGUF's architecture, if it differs from the model_type.
ARCHITECTURES = {"gemma3_text": "gemma3", "gemma4_text": "gemma4", "deepseek_v2": "deepseek2", "deepseek_v3": "deepseek2", "mistral": "llama", "mixtral": "llama", "qwen2_moe": "qwen2moe",
                 "qwen3_moe": "qwen3moe", "glm4_moe": "glm4moe", "lfm2_moe": "lfm2moe", "qwen3_5_text": "qwen35", "qwen3_5_moe_text": "qwen35moe",
                 "qwen3_next": "qwen3next", "granitemoehybrid": "granitehybrid", "qwen3_vl_text": "qwen3vl",
                 "qwen3_vl_moe_text": "qwen3vlmoe", "qwen2_5_vl_text": "qwen2vl"}
LATENT_FAMILIES = ("deepseek_v2", "deepseek_v3")
STATE_SPACES = ("mamba2", "granitemoehybrid", "nemotron_h")
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


def architecture(config):
    """The architecture that the file states."""
    if config.model_type == "nemotron_h" and "moe" in config.layer_types:
        return "nemotron_h_moe"
    return ARCHITECTURES.get(config.model_type, config.model_type)


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
