# SPDX-License-Identifier: MIT
"""gguf_file.py: writes models as GGUF, as llama.cpp's converter does."""

import gguf
import numpy as np

from gguf_metadata import TYPES, write_metadata
from gguf_names import architecture, tensor_name
from gguf_tensors import FOLDED_NORMS, converted, layers_ahead, rope_tensors

# The rows of q and k are reordered.
PAIRWISE = ("llama", "mistral", "mixtral", "granite", "granitemoe", "granitemoehybrid", "smollm3")
ROUTERS = ("router.proj.weight", "mlp.gate.weight", "feed_forward.gate.weight", "shared_expert_gate.weight", "block_sparse_moe.router.weight", "mixer.gate.weight")  # stay float32
NORMS_PLUS_ONE = ("gemma2", "gemma3_text", "qwen3_5_text", "qwen3_5_moe_text", "qwen3_next")


def pairwise_rows(weight, heads):
    """A q or k projection with the two rows of every rotated pair adjacent."""
    return (weight.reshape(heads, 2, -1, *weight.shape[1:]).swapaxes(1, 2)).reshape(weight.shape)


def write(path, model, vocabulary, type_name):
    """Writes `model` to `path`; returns {name: float32 array}, the weights that a reader will see.

    Matrices take the type `type_name`; vectors stay float32.
    """
    config = model.config
    kind = TYPES[type_name][0]
    family = config.model_type
    writer = gguf.GGUFWriter(path, architecture(config))
    write_metadata(writer, config, vocabulary, type_name)
    for name, factors in rope_tensors(config).items():
        writer.add_tensor(name, factors)

    stored, written = {}, {}
    for name, weight in converted(model).items():
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
