# SPDX-License-Identifier: MIT
"""random_shapes.py: Hugging Face directories of random models, of shapes that config_families.py draws.

    python tools/parity/random_shapes.py OUT [--many N] [--seed N] [FAMILY...]
    python tools/parity/gradients.py OUT/* --lengths 3,24

OUT gets directories FAMILY-0, FAMILY-1, ... of models that are small enough for float64. Needs torch, transformers 5.24.
"""

import argparse
import json
import random
from pathlib import Path

import torch

import checkpoints
import configs
from config_families import FAMILIES

MOST_LAYERS, MOST_NUMBERS = 8, 3e7  # numbers of an embedding, or of all mlps
LEFT_OUT = ("qwen2_5_vl_text", "qwen3_vl_text", "qwen3_vl_moe_text")  # parts of models with a tower
IDS = 24  # of the pass that shows that transformers runs the model


def drawn(family, r):
    """A config that cke has, not too large."""
    while True:
        text, config, refused = configs.valid_config(family, r)
        experts = next((n for n in (getattr(config, key, None) for key in
                                    ("n_routed_experts", "num_local_experts", "num_experts")) if n), 1)
        mlps = (getattr(config, "intermediate_size", None) or 1) * experts * config.num_hidden_layers
        if (refused | family.absent_of(json.loads(text)) or config.num_hidden_layers > MOST_LAYERS
                or config.hidden_size * max(config.vocab_size, mlps) > MOST_NUMBERS):
            continue
        for name in ("in_file", "text", "head_dim_of", "num_key_value_heads_of"):  # configs.py's own
            config.__dict__.pop(name, None)
        if hasattr(config, "pad_token_id"):
            config.pad_token_id = None
        if hasattr(config, "time_step_limit"):
            config.time_step_limit = (0.0, float("inf"))  # of others transformers takes a part (docs/limits.md)
        return config


def model_of(config, seed):
    """Of random weights, whose wide rows are smaller, as they would make noise of rounding."""
    model = checkpoints.random_model(config, seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() > 1 and weight.shape[-1] > 64 and "embed" not in name and "conv" not in name:
                weight.mul_((64 / weight.shape[-1]) ** 0.5)
    model.set_experts_implementation("eager")
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("families", nargs="*")
    parser.add_argument("--many", type=int, default=2, help="models of a family")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_intermixed_args()
    for kind in args.families or sorted(FAMILIES.keys() - set(LEFT_OUT)):
        r, made = random.Random(f"{kind} {args.seed}"), 0
        FAMILIES[kind].rules = FAMILIES[kind].rules and ("default", "linear")  # no matter how long a pass is
        while made < args.many:
            config = drawn(FAMILIES[kind], r)
            config.vocab_size = 301 + 2 * r.randrange(100)
            if hasattr(config, "vocab_size_per_layer_input"):
                config.vocab_size_per_layer_input = config.vocab_size
            try:
                model = model_of(config, made)
                checkpoints.logits(model, checkpoints.random_ids(config.vocab_size, IDS, made))
            except Exception:  # a shape that transformers has no rule against, and does not run
                continue
            model.save_pretrained(args.out / f"{kind}-{made}")
            made += 1
        print(f"{kind}: {made}", flush=True)


if __name__ == "__main__":
    main()
