# SPDX-License-Identifier: MIT
"""converter.py: checks that cke reads what llama.cpp's converter makes of a Hugging Face directory as the directory.

    python tools/parity/converter.py LLAMA_CPP [--many N] [--seed N] [FAMILY...]

LLAMA_CPP is a folder with convert_hf_to_gguf.py and what it imports, such as vendor/llama.cpp of the source archive of
llama-cpp-python on PyPI. For each family, models of random shapes and weights: cke's logits of the directory are held
against transformers', and those of the GGUF file against the directory's. What the converter drops, or has no word for,
is drawn as GGUF takes it (IN_GGUF). Needs torch, transformers 5.24, sentencepiece, build/release/cke; a model takes
some two seconds.
"""

import argparse
import contextlib
import io
import json
import logging
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import torch

import checkpoints
import measure
import random_shapes
from config_families import FAMILIES

LIMIT = 1e-3  # of the largest logit
ALIKE, NO_MODEL, NOT_CONVERTED = "alike", "not a model for transformers", "not converted"
FINE = ALIKE, NO_MODEL, NOT_CONVERTED  # what cke has no part in counts as fine
YARN = ("default", "linear", "yarn")
RULES = {"llama": (*YARN, "llama3"), "phi3": ("default", "longrope"),  # that the converter writes
         **dict.fromkeys(("glm4", "granite", "mistral", "mixtral", "olmo2", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe"), YARN)}
ATTENTION = "full_attention"


def set_all(**values):
    return lambda c: [setattr(c, name, value) for name, value in values.items()]


def plain_heads(c):
    c.head_dim = c.hidden_size // c.num_attention_heads


def deepseek(c):
    c.num_key_value_heads = c.num_attention_heads
    c.qk_nope_head_dim += c.qk_nope_head_dim % 2  # transformers' V2 takes pairs of it for complex numbers


def gemma2(c):
    set_all(query_pre_attn_scalar=c.head_dim, attn_logit_softcapping=50.0, final_logit_softcapping=30.0)(c)
    set_all(tie_word_embeddings=True, rope_parameters={"rope_type": "default", "rope_theta": 10000.0})(c)
    c.layer_types = [ATTENTION if i % 2 else "sliding_attention" for i in range(c.num_hidden_layers)]


def gemma3(c):
    c.query_pre_attn_scalar = c.head_dim
    c.layer_types = [ATTENTION if i % 6 == 5 else "sliding_attention" for i in range(c.num_hidden_layers)]
    c.rope_parameters["sliding_attention"] = {"rope_type": "default", "rope_theta": 10000.0}


def gemma4(c):
    c.rope_parameters["sliding_attention"] = {"rope_type": "default", "rope_theta": 10000.0}
    c.rope_parameters[ATTENTION] |= {"rope_type": "proportional", "factor": 1.0}


def hybrid(c):
    plain_heads(c)
    set_all(mamba_conv_bias=True, mamba_proj_bias=False, mamba_d_conv=4, position_embedding_type="nope")(c)


def lfm2(c):
    set_all(conv_L_cache=3, conv_bias=False)(c)


def lfm2_moe(c):
    lfm2(c)
    set_all(tie_word_embeddings=True, use_expert_bias=True, norm_topk_prob=True, routed_scaling_factor=1.0)(c)


def olmoe(c):
    plain_heads(c)
    c.norm_topk_prob = False


def phi3(c):
    for name in "factor", "attention_factor":
        c.rope_parameters.pop(name, None)


def smollm3(c):
    c.no_rope_layers = [int(i % 4 != 3) for i in range(c.num_hidden_layers)]


# By family: the values that GGUF files stand for, whatever the directory has.
IN_GGUF = {
    "deepseek_v2": deepseek, "deepseek_v3": deepseek, "gemma2": gemma2, "gemma3_text": gemma3, "gemma4_text": gemma4,
    "granite": plain_heads, "granitemoe": plain_heads, "granitemoehybrid": hybrid, "lfm2": lfm2, "lfm2_moe": lfm2_moe,
    "mamba2": set_all(conv_kernel=4, use_conv_bias=True, use_bias=False),
    "mistral": set_all(sliding_window=None), "olmoe": olmoe, "phi3": phi3, "smollm3": smollm3,
    "nemotron_h": set_all(mamba_head_dim=64, conv_kernel=4, use_conv_bias=True, use_bias=False, mlp_bias=False),
    "qwen2_moe": set_all(norm_topk_prob=False), "qwen3_moe": set_all(norm_topk_prob=True),
    "qwen3_next": set_all(norm_topk_prob=True, linear_conv_kernel_dim=4),
    **dict.fromkeys(("qwen3_5_text", "qwen3_5_moe_text"), set_all(linear_conv_kernel_dim=4))}
# The sorts of layers that a model must have, all of one set. A Nemotron-H without experts is left out: where transformers
# 5 is installed, the converter takes it for one with experts.
SORTS = {"granitemoehybrid": [{ATTENTION, "linear_attention"}], "lfm2": [{ATTENTION, "conv"}],
         "lfm2_moe": [{ATTENTION, "conv"}],
         "nemotron_h": [{ATTENTION, "linear_attention", "moe"}]}
LETTERS = {ATTENTION: "*", "linear_attention": "M", "moe": "E"}


def as_published(kind, values):
    """The values under the keys that published files have, and the converter reads."""
    if kind == "granitemoehybrid":
        before = {ATTENTION: "attention", "linear_attention": "mamba"}
        values["layer_types"] = [before[word] for word in values["layer_types"]]
    if kind == "nemotron_h":
        words = values.pop("layers_block_type")
        values["hybrid_override_pattern"] = "".join(LETTERS[word] for word in words)
    if kind == "deepseek_v3":
        values["scoring_func"] = "sigmoid"
    return values


def drawn(family, r):
    """A config of which GGUF can say all."""
    while True:
        config = random_shapes.drawn(family, r)
        sorts = set(getattr(config, "layers_block_type" if family.kind == "nemotron_h" else "layer_types", None) or [])
        if sorts in SORTS.get(family.kind, [sorts]):
            break
    for name in ("mscale", "mscale_all_dim", "truncate") if family.kind in RULES else ():
        config.rope_parameters.pop(name, None)
    IN_GGUF.get(family.kind, lambda c: None)(config)
    return config


def written(config, seed, directory):
    """The model of a config, in a directory whose config.json has all keys, as published ones do."""
    model = random_shapes.model_of(config, seed)
    model.save_pretrained(directory)
    values = json.loads(config.to_json_string(use_diff=False)) | json.loads((directory / "config.json").read_text())
    (directory / "config.json").write_text(json.dumps(as_published(config.model_type, values)))
    return model


class Converter:
    """llama.cpp's converter, with a vocabulary of words that mean nothing."""

    def __init__(self, folder):
        sys.path[:0] = [str(folder / "gguf-py"), str(folder)]
        import conversion
        import gguf
        self.conversion, self.gguf = conversion, gguf
        logging.disable(logging.WARNING)

    def set_vocab(self, model):
        words = [f"<{i}>" for i in range(model.hparams["vocab_size"])]
        words[3:6] = ["a", "b", "ab"]
        to = model.gguf_writer
        to.add_tokenizer_model("gpt2"), to.add_tokenizer_pre("qwen2"), to.add_token_list(words)
        to.add_token_types([self.gguf.TokenType.NORMAL] * len(words)), to.add_token_merges(["a b"])
        to.add_eos_token_id(2)

    def __call__(self, directory, out):
        base = self.conversion.ModelBase
        values = base.load_hparams(directory, False)
        text = self.conversion.ModelType.TEXT
        cls = self.conversion.get_model_class(self.conversion.get_model_architecture(values, text), mmproj=False)
        for each in cls.__mro__:
            if "set_vocab" in each.__dict__:
                each.set_vocab = lambda model: self.set_vocab(model)
        if hasattr(cls, "no_mtp"):
            cls.no_mtp = True  # these have none
        tokenizer = directory / "tokenizer.json"  # Gemma's looks into it for the number of ids
        vocabulary = {f"<{i}>": i for i in range(values["vocab_size"])}
        tokenizer.write_text(json.dumps({"added_tokens": [], "model": {"vocab": vocabulary}}))
        with torch.inference_mode(), contextlib.redirect_stderr(io.StringIO()):  # a progress bar
            cls(directory, self.gguf.LlamaFileType.ALL_F32, out).write()
        tokenizer.unlink()


def cke_logits(cke, model, ids):
    """float32 [len(ids), vocab], or what cke says instead."""
    with tempfile.NamedTemporaryFile(suffix=".npy") as out:
        command = [cke, "logits", model, "--tokens", ",".join(map(str, ids)), "-o", out.name, "-c", str(len(ids))]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        return np.load(out.name) if done.returncode == 0 else done.stderr.strip()


def compared(found, wanted):
    if isinstance(found, str):
        return found
    off = float(np.abs(found - wanted).max() / np.abs(wanted).max())
    return ALIKE if off < LIMIT else f"logits differ by {off:.1g} of the largest"


def check(family, seed, convert, cke):
    """What became of one random model: of its directory and of its GGUF file."""
    config = drawn(family, random.Random(f"{family.kind} {seed}"))
    with tempfile.TemporaryDirectory() as folder:
        directory, file = Path(folder) / "model", Path(folder) / "model.gguf"
        try:
            model = written(config, seed, directory)
            ids = checkpoints.random_ids(config.vocab_size, 24, seed)
            wanted = checkpoints.logits(model, ids)
        except Exception as error:  # of any kind, deep inside
            return f"{NO_MODEL}: {str(error)[:80]}", NO_MODEL
        found = cke_logits(cke, directory, ids)
        said = compared(found, wanted)
        try:
            convert(directory, file)
        except Exception as error:
            return said, f"{NOT_CONVERTED}: {type(error).__name__} {str(error)[:80]}"
        return said, compared(cke_logits(cke, file, ids), found).replace(folder + "/", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("llama_cpp", type=Path)
    parser.add_argument("families", nargs="*")
    parser.add_argument("--many", type=int, default=10, help="models of a family")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cke", type=Path, default=measure.ROOT / "build/release/cke")
    args = parser.parse_intermixed_args()
    convert, wrong = Converter(args.llama_cpp.resolve()), 0
    for kind in args.families or sorted(FAMILIES.keys() - set(random_shapes.LEFT_OUT)):
        family, counts = FAMILIES[kind], Counter()
        family.rules = family.rules and RULES.get(kind, ("default", "linear"))
        for i in range(args.many):
            seed = 1000 * args.seed + i
            directory, file = check(family, seed, convert, args.cke)
            counts[directory, file] += 1
            if not directory.startswith(FINE) or not file.startswith(FINE):
                wrong += 1
                print(f"{kind} {seed}: directory: {directory}; file: {file}", flush=True)
        for (directory, file), n in counts.most_common():
            print(f"{kind:<18}{n:>4}  {directory}; {file}", flush=True)
    print(f"{wrong} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
