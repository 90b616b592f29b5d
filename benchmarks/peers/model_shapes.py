# SPDX-License-Identifier: MIT
"""model_shapes.py: configs of published models, and the tensors that a GGUF file of them has."""

from types import SimpleNamespace

import numpy as np


def qwen3(hidden, intermediate, layers, heads):
    return dict(model_type="qwen3", vocab_size=151936, hidden_size=hidden, intermediate_size=intermediate,
                num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=8, head_dim=128,
                max_position_embeddings=40960, rope_parameters={"rope_type": "default", "rope_theta": 1e6})


SHAPES = {
    "0.6B": qwen3(1024, 3072, 28, 16), "1.7B": qwen3(2048, 6144, 28, 16), "4B": qwen3(2560, 9728, 36, 32),
    "qwen3-30b-a3b": qwen3(2048, 6144, 48, 32) | dict(
        model_type="qwen3_moe", num_key_value_heads=4, num_experts=128, num_experts_per_tok=8, moe_intermediate_size=768),
    "gemma-3-1b": dict(
        model_type="gemma3_text", vocab_size=262144, hidden_size=1152, intermediate_size=6912, num_hidden_layers=26,
        num_attention_heads=4, num_key_value_heads=1, head_dim=256, max_position_embeddings=32768, sliding_window=512,
        rope_parameters={"rope_type": "default", "rope_theta": 1e6}),
    "llama-3.2-1b": dict(
        model_type="llama", vocab_size=128256, hidden_size=2048, intermediate_size=8192, num_hidden_layers=16,
        num_attention_heads=32, num_key_value_heads=8, head_dim=64, max_position_embeddings=131072, rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "llama3", "rope_theta": 5e5, "factor": 32.0, "low_freq_factor": 1.0,
                         "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}),
    "qwen3.5-0.8b": dict(
        model_type="qwen3_5_text", vocab_size=248320, hidden_size=1024, intermediate_size=3584, num_hidden_layers=24,
        num_attention_heads=8, num_key_value_heads=2, head_dim=256, max_position_embeddings=262144,
        linear_num_key_heads=16, linear_num_value_heads=16, linear_key_head_dim=128, linear_value_head_dim=128,
        linear_conv_kernel_dim=4,
        rope_parameters={"rope_type": "default", "rope_theta": 1e7, "partial_rotary_factor": 0.25,
                         "mrope_section": [11, 11, 10]}),
}


def config_of(shape, layers=None):
    values = {"rms_norm_eps": 1e-6} | SHAPES[shape]
    config = SimpleNamespace(**values)
    config.num_hidden_layers = layers or config.num_hidden_layers
    if config.model_type == "qwen3_5_text":
        config.layer_types = ["full_attention" if i % 4 == 3 else "linear_attention" for i in range(config.num_hidden_layers)]
    return config


def tensors(c):
    """(name, shape) of every tensor; shapes are [out, in], as in Hugging Face files."""
    yield "token_embd.weight", (c.vocab_size, c.hidden_size)
    if c.model_type == "qwen3_moe":
        yield "output.weight", (c.vocab_size, c.hidden_size)
    for i in range(c.num_hidden_layers):
        kinds = getattr(c, "layer_types", None)
        mixer = delta_net(c) if kinds and kinds[i] == "linear_attention" else attention(c)
        for name, shape in [*norms(c), *mixer, *mlp(c)]:
            yield f"blk.{i}.{name}" + ("" if name in ("ssm_a", "ssm_dt.bias") else ".weight"), shape
    yield "output_norm.weight", (c.hidden_size,)


def norms(c):
    names = {"gemma3_text": ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"),
             "qwen3_5_text": ("attn_norm", "post_attention_norm")}.get(c.model_type, ("attn_norm", "ffn_norm"))
    return [(name, (c.hidden_size,)) for name in names]


def attention(c):
    q, kv = c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim
    gated = 2 if c.model_type == "qwen3_5_text" else 1  # a gate beside each query
    yield from (("attn_q", (gated * q, c.hidden_size)), ("attn_k", (kv, c.hidden_size)), ("attn_v", (kv, c.hidden_size)))
    if c.model_type != "llama":
        yield from (("attn_q_norm", (c.head_dim,)), ("attn_k_norm", (c.head_dim,)))
    yield "attn_output", (c.hidden_size, q)


def delta_net(c):
    heads = c.linear_num_value_heads
    keys, values = c.linear_num_key_heads * c.linear_key_head_dim, heads * c.linear_value_head_dim
    yield from (("attn_qkv", (2 * keys + values, c.hidden_size)), ("attn_gate", (values, c.hidden_size)),
                ("ssm_alpha", (heads, c.hidden_size)), ("ssm_beta", (heads, c.hidden_size)),
                ("ssm_conv1d", (2 * keys + values, c.linear_conv_kernel_dim)), ("ssm_a", (heads,)),
                ("ssm_dt.bias", (heads,)), ("ssm_norm", (c.linear_value_head_dim,)), ("ssm_out", (c.hidden_size, values)))


def mlp(c):
    if c.model_type == "qwen3_moe":
        experts, width = c.num_experts, c.moe_intermediate_size
        yield from (("ffn_gate_inp", (experts, c.hidden_size)), ("ffn_gate_exps", (experts, width, c.hidden_size)),
                    ("ffn_up_exps", (experts, width, c.hidden_size)), ("ffn_down_exps", (experts, c.hidden_size, width)))
        return
    yield from (("ffn_gate", (c.intermediate_size, c.hidden_size)), ("ffn_up", (c.intermediate_size, c.hidden_size)),
                ("ffn_down", (c.hidden_size, c.intermediate_size)))


def is_float(name, shape):
    """Whether llama.cpp's converter leaves it in float32."""
    return len(shape) == 1 or "ffn_gate_inp" in name or "ssm_conv1d" in name


def rope_divisors(c):
    """float32 [head_dim / 2] of llama3's rope scaling, or None."""
    rope = c.rope_parameters
    if rope["rope_type"] != "llama3":
        return None
    length = 2 * np.pi * rope["rope_theta"] ** (np.arange(0, c.head_dim, 2) / c.head_dim)
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    smooth = (rope["original_max_position_embeddings"] / length - low) / (high - low)
    return (1 / np.clip((1 - smooth) / rope["factor"] + smooth, 1 / rope["factor"], 1)).astype(np.float32)
