# SPDX-License-Identifier: MIT
"""initial.py: the weights that training starts from.

Random ones, but for the attention of the first two layers. There one group of heads looks at the
token before and the one before that, and the next layer looks for what followed the same tokens
earlier: the copying that answers about a text are made of. Large models find this by themselves;
one that is trained for half an hour on one core would spend most of it searching.
"""

from __future__ import annotations

import numpy as np


def initial(config: dict, seed: int) -> dict[str, np.ndarray]:
    """The tensors of a Qwen3 with tied embeddings, in float32."""
    random = np.random.default_rng(seed)
    width, d = config["hidden_size"], config["head_dim"]
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    hidden = config["intermediate_size"]

    def matrix(rows: int, cols: int) -> np.ndarray:
        return random.normal(0, config["initializer_range"], (rows, cols))

    tensors = {"model.norm.weight": np.ones(width)}
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        tensors |= {
            at + "input_layernorm.weight": np.ones(width),
            at + "post_attention_layernorm.weight": np.ones(width),
            at + "self_attn.q_proj.weight": matrix(heads * d, width),
            at + "self_attn.k_proj.weight": matrix(kv_heads * d, width),
            at + "self_attn.v_proj.weight": matrix(kv_heads * d, width),
            at + "self_attn.o_proj.weight": np.zeros((width, heads * d)),
            at + "self_attn.q_norm.weight": np.ones(d),
            at + "self_attn.k_norm.weight": np.ones(d),
            at + "mlp.gate_proj.weight": matrix(hidden, width),
            at + "mlp.up_proj.weight": matrix(hidden, width),
            at + "mlp.down_proj.weight": np.zeros((width, hidden)),
        }

    # One direction that all tokens share, and three subspaces as wide as a head: which token this
    # is, which came before it, and which before that.
    basis = np.linalg.qr(random.normal(size=(width, width)))[0]
    same, token, before, before2 = np.split(basis, np.cumsum([1, d, d, d]))[:4]
    table = random.normal(0, 0.08, (config["vocab_size"], width))
    for space in (same, before, before2):
        table -= table @ space.T @ space
    tensors["model.embed_tokens.weight"] = table + 0.8 * same

    # Rotated by its position, a query that points `back` tokens back meets the key found there.
    angle = config["rope_theta"] ** (-np.arange(0, d, 2) / d)
    fast = np.arange(d // 2) < 6

    def pointing(back: int) -> np.ndarray:
        return np.concatenate([fast * np.cos(-back * angle), fast * np.sin(-back * angle)])[:, None]

    def of(layer: int, name: str) -> np.ndarray:
        return tensors[f"model.layers.{layer}.self_attn.{name}.weight"]

    head = [slice(i * d, (i + 1) * d) for i in range(heads)]
    of(0, "k_proj")[head[0]] = pointing(0) @ same
    of(0, "q_proj")[head[0]] = pointing(1) @ same
    of(0, "q_proj")[head[1]] = pointing(2) @ same
    of(0, "v_proj")[head[0]] = token
    of(0, "o_proj")[:, head[0]] = 0.1 * before.T
    of(0, "o_proj")[:, head[1]] = 0.1 * before2.T
    of(1, "k_proj")[head[0]] = before
    of(1, "k_proj")[head[1]] = token
    for h in head:
        of(1, "q_proj")[h] = token
    of(1, "v_proj")[head[0]] = token
    of(1, "o_proj")[:, head[0]] = 0.1 * token.T
    of(1, "o_proj")[:, head[1]] = 0.1 * token.T
    for layer, gain in ((0, 2.0), (1, 1.3)):
        of(layer, "q_norm")[:] = gain
        of(layer, "k_norm")[:] = gain
    return {name: np.ascontiguousarray(t, dtype=np.float32) for name, t in tensors.items()}
