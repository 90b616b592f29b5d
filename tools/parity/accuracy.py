# SPDX-License-Identifier: MIT
"""accuracy.py: how far cke and llama.cpp are from float32, on the same quantised weights.

    python tools/parity/accuracy.py DIR [--types Q8_0 BF16 F16 Q4_K_M] [--kv bf16 f16 q8_0]
        [--length 400] [--prompts 2]

DIR is a Hugging Face directory. Its weights are written as GGUF in each type; the reference is
transformers in float32 on those weights, dequantised. Prints one Markdown row for each type, engine
and kind of cache: KL(reference || engine) in nats over all positions. llama.cpp runs as it does by
default, with flash attention and a float16 cache, and once more with a q8_0 cache.
Needs torch, transformers, gguf, llama-cpp-python and build/release/cke.
"""

import argparse
import ctypes
import sys
import tempfile
from pathlib import Path

import gguf
import llama_cpp
import numpy as np
import torch

import checkpoints
import gguf_file
import gguf_metadata
import gguf_names
import llamacpp
import measure

HEADER = ("| weights | engine | keys and values | mean KL | 99 % KL | max KL | top-1 |\n"
          "|---|---|---|---|---|---|---|")


def write_gguf(folder, model, name):
    """The path of `model` as GGUF in type `name`, and its weights as a reader will see them."""
    # # Text is not tested, so any token names will do.
    tokens = ["a", "b", "ab"] + [f"<{i}>" for i in range(3, model.config.vocab_size)]
    vocabulary = gguf_metadata.Vocabulary("qwen2", tokens, [gguf.TokenType.NORMAL] * len(tokens), ["a b"],
                                          bos=0, eos=1)
    path = folder / f"{name}.gguf"
    if name in gguf_metadata.TYPES:
        return path, gguf_file.write(path, model, vocabulary, name)
    whole = folder / "F32.gguf"
    gguf_file.write(whole, model, vocabulary, "F32")
    how = llama_cpp.llama_model_quantize_default_params()
    how.ftype = getattr(llama_cpp, f"LLAMA_FTYPE_MOSTLY_{name}")
    if llama_cpp.llama_model_quantize(str(whole).encode(), str(path).encode(), ctypes.byref(how)) != 0:
        raise SystemExit(f"{name}: llama.cpp does not quantise this model")
    read = {t.name: gguf.quants.dequantize(t.data, t.tensor_type) for t in gguf.GGUFReader(path).tensors}
    family, tied = model.config.model_type, model.config.tie_word_embeddings
    if family in gguf_file.PAIRWISE:
        raise SystemExit(f"{name}: rows of {family} are reordered in GGUF; take another family")
    return path, {key: read[gguf_names.tensor_name("model.embed_tokens.weight" if tied and key == "lm_head.weight"
                                                   else key, family)] for key in model.state_dict()}


def reference(model, weights, prompts):
    kept = {name: parameter.clone() for name, parameter in model.state_dict().items()}
    model.load_state_dict({name: torch.from_numpy(np.array(weight, np.float32)).reshape(kept[name].shape)
                           for name, weight in weights.items()})
    with torch.no_grad():
        out = [model(torch.tensor([ids])).logits[0].numpy() for ids in prompts]
    model.load_state_dict(kept)
    return np.concatenate(out)


def row(name, engine, kv, want, got):
    p, q = measure.log_softmax(want), measure.log_softmax(got)
    kl = (np.exp(p) * (p - q)).sum(axis=1)
    top1 = (want.argmax(axis=1) == got.argmax(axis=1)).mean()
    print(f"| {name} | {engine} | {kv} | {kl.mean():.2e} | {np.quantile(kl, 0.99):.2e} | {kl.max():.2e} "
          f"| {top1:.4f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--types", nargs="+", default=["Q8_0", "BF16", "F16"])
    parser.add_argument("--kv", nargs="+", default=["f32", "f16", "bf16", "q8_0"], help="caches of cke")
    parser.add_argument("--length", type=int, default=400, help="positions of a prompt")
    parser.add_argument("--prompts", type=int, default=2)
    parser.add_argument("--cke", type=Path, default=measure.ROOT / "build/release/cke")
    args = parser.parse_args()
    args.format = None
    llama_cpp.llama_log_set(llamacpp.quiet, ctypes.c_void_p())

    model = checkpoints.load(args.directory)
    prompts = [checkpoints.random_ids(model.config.vocab_size, args.length, seed)
               for seed in range(args.prompts)]
    print(HEADER)
    with tempfile.TemporaryDirectory() as folder:
        for name in args.types:
            path, weights = write_gguf(Path(folder), model, name)
            want = reference(model, weights, prompts)
            for kv in args.kv:
                got = [measure.cke_logits(args, path, ids, "--kv", kv) for ids in prompts]
                row(name, "cke", kv, want, np.concatenate(got))
            for kv in ("f16", "q8_0"):
                got = [llamacpp.logits(path, ids, kv=kv, flash=True) for ids in prompts]
                row(name, "llama.cpp", kv, want, np.concatenate(got))
    return 0


if __name__ == "__main__":
    sys.exit(main())
