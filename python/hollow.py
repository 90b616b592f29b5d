# SPDX-License-Identifier: MIT
"""hollow.py PRESET FOLDER: a Hugging Face directory of a preset's shapes, whose weights are a hole in a file. cke makes
of it the unit that it makes of the real checkpoint, so that the unit can be compiled ahead."""
import json
import sys
from pathlib import Path

CONFIGS = {
    "qwen3-0.6b": {
        "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "torch_dtype": "bfloat16", "attention_bias": False,
        "head_dim": 128, "hidden_act": "silu", "hidden_size": 1024, "intermediate_size": 3072,
        "max_position_embeddings": 40960, "num_attention_heads": 16, "num_hidden_layers": 28, "num_key_value_heads": 8,
        "rms_norm_eps": 1e-06, "rope_scaling": None, "rope_theta": 1000000, "sliding_window": None,
        "tie_word_embeddings": True, "use_sliding_window": False, "vocab_size": 151936, "eos_token_id": 151645},
}


def shapes(c):
    """The tensors of a Qwen3 checkpoint."""
    dim, hidden, head = c["hidden_size"], c["intermediate_size"], c["head_dim"]
    q, kv = c["num_attention_heads"] * head, c["num_key_value_heads"] * head
    yield "model.embed_tokens.weight", [c["vocab_size"], dim]
    for i in range(c["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        for name, shape in (("input_layernorm", [dim]), ("self_attn.q_proj", [q, dim]), ("self_attn.k_proj", [kv, dim]),
                            ("self_attn.v_proj", [kv, dim]), ("self_attn.o_proj", [dim, q]),
                            ("self_attn.q_norm", [head]), ("self_attn.k_norm", [head]),
                            ("post_attention_layernorm", [dim]), ("mlp.gate_proj", [hidden, dim]),
                            ("mlp.up_proj", [hidden, dim]), ("mlp.down_proj", [dim, hidden])):
            yield f"{layer}{name}.weight", shape
    yield "model.norm.weight", [dim]


def main(preset, folder):
    config = CONFIGS[preset]
    header, end = {}, 0
    for name, shape in shapes(config):
        size = 2
        for extent in shape:
            size *= extent
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    to = Path(folder)
    to.mkdir(parents=True, exist_ok=True)
    (to / "config.json").write_text(json.dumps(config))
    with open(to / "model.safetensors", "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text)
        f.truncate(8 + len(text) + end)


if __name__ == "__main__":
    main(*sys.argv[1:])
