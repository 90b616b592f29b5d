# SPDX-License-Identifier: MIT
"""checkpoints.py: tiny random checkpoints and transformers' results for them."""

import copy
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForCausalLM
from transformers.utils import logging

logging.set_verbosity_error()
logging.disable_progress_bar()
torch.set_num_threads(1)
torch.use_deterministic_algorithms(True)

FAMILIES = ("llama", "mistral", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "gemma2", "gemma3_text", "gemma4_text", "deepseek_v2", "deepseek_v3", "glm4", "glm4_moe", "olmo2", "olmoe", "phi3",
            "smollm3", "granite", "granitemoe", "mixtral", "lfm2", "lfm2_moe", "qwen3_5_text", "qwen3_5_moe_text", "qwen3_next",
            "mamba2", "granitemoehybrid", "nemotron_h")


def random_model(config, seed=0):
    """A float32 model of `config` in which every parameter is random.

    transformers initialises norms to one and biases to zero, so a reader that ignored them would pass;
    and its small weights make every model nearly linear.
    """
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32, attn_implementation="eager")
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            wide = "embed_tokens" in name or "lm_head" in name
            parameter.normal_(0.0, 0.5 if wide else 0.25, generator=generator)
            if "norm" in name or name.endswith("scale"):
                parameter.mul_(0.6).add_(0.7)
        for name, buffer in learned_buffers(model):
            buffer.normal_(0.0, 0.25, generator=generator)
            if name.endswith("layer_scalar"):
                buffer.add_(0.8)
    return model.eval()


def learned_buffers(model):
    """Tensors that files have but torch does not list as parameters: biases of routing, scales of layers."""
    return [(name, buffer) for name, buffer in model.named_buffers()
            if name.endswith(("e_score_correction_bias", "expert_bias", "layer_scalar"))]


def load(directory):
    """The model of a Hugging Face directory, upcast to float32, with eager attention."""
    return AutoModelForCausalLM.from_pretrained(
        directory, dtype=torch.float32, attn_implementation="eager").eval()


@torch.no_grad()
def logits(model, ids, rope_length=None):
    """float32 [len(ids), vocab]: one forward pass over `ids`.

    Dynamic and longrope scaling depend on the length of the pass, which `rope_length` sets by padding
    (causal attention hides the padding from the rows that are returned).
    """
    padding = [0] * ((rope_length or len(ids)) - len(ids))
    model = copy.deepcopy(model)  # a dynamic rope remembers the longest pass
    rows = model(torch.tensor([ids + padding]), use_cache=False).logits[0, : len(ids)]
    return rows.float().numpy()


@torch.no_grad()
def greedy(model, ids, count, rope_length=None):
    """(the ids that follow `ids` under greedy search, the smallest gap between best and second).

    Without `rope_length` this is `generate` with its cache; with it, whole passes of that length.
    """
    if rope_length is None:
        model = copy.deepcopy(model)
        out = model.generate(torch.tensor([ids]), max_new_tokens=count, do_sample=False,
                             pad_token_id=0, output_logits=True, return_dict_in_generate=True)
        new, rows = out.sequences[0, len(ids):].tolist(), torch.cat(out.logits).numpy()
    else:
        new, rows = [], []
        for _ in range(count):
            rows.append(logits(model, ids + new, rope_length)[-1])
            new.append(int(rows[-1].argmax()))
    best = np.sort(np.asarray(rows), axis=1)
    return new, float((best[:, -1] - best[:, -2]).min())


def random_ids(vocab_size, count, seed):
    """`count` ids, none of the first three (bos, eos and padding)."""
    return np.random.default_rng(seed).integers(3, vocab_size, count).tolist()


def directory_bytes(directory):
    return sum(f.stat().st_size for f in Path(directory).rglob("*") if f.is_file())
