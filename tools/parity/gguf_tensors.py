# SPDX-License-Identifier: MIT
"""gguf_tensors.py: a model's tensors as llama.cpp's converter writes them, before quantisation."""

import numpy as np

from gguf_names import LATENT_FAMILIES, STATE_SPACES

FOLDED_NORMS = (".mixer.norm.weight", ".mamba.norm.weight")


def converted(model):
    """{name: array} under transformers' names, except for tensors that the converter splits or joins."""
    config = model.config
    state = {name: parameter.numpy() for name, parameter in by_expert_role(model.state_dict()).items()}
    if hasattr(config, "linear_num_key_heads"):
        state = linear_attention(state, config)
    if config.model_type in STATE_SPACES:
        state = state_space(state, config)
    if config.model_type in LATENT_FAMILIES:
        state = by_head(config, state)
    return state


def by_expert_role(state):
    """The experts' gate and up, one tensor in transformers 5, as two; all three named "NAME.weight"."""
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
    """Reorders value heads of `size` numbers along an axis: those of one key head are no longer adjacent."""
    shape = weight.shape
    parts = shape[:axis] + (config.linear_num_key_heads, -1, size) + shape[axis + 1:]
    return weight.reshape(parts).swapaxes(axis, axis + 1).reshape(shape)


def linear_attention(state, config):
    """The tensors of gated delta nets as the converter writes them; q, k, v and the gate are separate."""
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
    """The tensors of mamba2 mixers, and of Granite's MLP, as the converter writes them."""
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
    """The latent matrix of keys and values as two matrices; that of the keys is transposed."""
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
    """{name: array}: the layers for multi-token prediction. cke ignores them, but llama.cpp requires them."""
    last, out = f"blk.{config.num_hidden_layers - 1}.", {}
    for n in range(getattr(config, "num_mtp_layers", 0)):
        mine = f"blk.{config.num_hidden_layers + n}."
        out |= {mine + name.removeprefix(last): weight for name, weight in tensors.items() if name.startswith(last)}
        dim = config.hidden_size
        out |= {f"{mine}nextn.eh_proj.weight": np.ones((dim, 2 * dim), np.float32)}
        out |= {f"{mine}nextn.{name}norm.weight": np.ones(dim, np.float32) for name in ("e", "h")}
    return out


def rope_tensors(config):
    """{name: float32 array}: rope scaling that GGUF stores as factors."""
    rope_type = (getattr(config, "rope_parameters", None) or {}).get("rope_type")
    if config.model_type == "gemma4_text":
        return {"rope_freqs.weight": proportional_divisors(config)}
    if rope_type == "llama3":
        return {"rope_freqs.weight": llama3_divisors(config)}
    if rope_type == "longrope":
        return {f"rope_factors_{length}.weight": np.array(config.rope_parameters[f"{length}_factor"], np.float32) for length in ("long", "short")}
    return {}


def proportional_divisors(config):
    """float32 [head_dim / 2] for layers with full attention: ones, then values that stop the other rotations."""
    head_dim = config.per_layer_config[config.layer_types.index("full_attention")].head_dim
    turning = int(head_dim * config.rope_parameters["full_attention"]["partial_rotary_factor"] / 2)
    return np.array([1.0] * turning + [1e30] * (head_dim // 2 - turning), np.float32)


def llama3_divisors(config):
    """float32 [head_dim / 2]: llama3's divisor of each frequency (rope_freqs.weight)."""
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    scaled, _ = ROPE_INIT_FUNCTIONS["llama3"](config)
    exponent = np.arange(0, config.head_dim, 2, dtype=np.float32) / config.head_dim
    return (config.rope_parameters["rope_theta"] ** -exponent / scaled.numpy()).astype(np.float32)
