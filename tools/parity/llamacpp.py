# SPDX-License-Identifier: MIT
"""llamacpp.py: the same GGUF file through llama.cpp and through cke; how far apart are they?

    python tools/parity/llamacpp.py MODEL.gguf... [--tokens IDS] [--expected FILE.npy]

Needs the PyPI packages llama-cpp-python and numpy, and build/release/cke. Prints one Markdown row
per file; exits 1 where the top choices differ more often, or logits differ more, than allowed.
"""

import argparse
import ctypes
import sys
from pathlib import Path

import llama_cpp
import numpy as np

import measure


@llama_cpp.llama_log_callback
def quiet(level, text, user_data):
    pass


def logits(path, ids, threads=2, kv="f32", flash=False):
    """float32 [len(ids), vocab] from llama.cpp, all ids in one batch."""
    model_params = llama_cpp.llama_model_default_params()
    model_params.n_gpu_layers = 0
    model = llama_cpp.llama_model_load_from_file(str(path).encode(), model_params)
    if not model:
        raise SystemExit(f"{path}: llama.cpp does not load this file")
    params = llama_cpp.llama_context_default_params()
    params.n_ctx = params.n_batch = params.n_ubatch = max(64, len(ids))
    params.n_threads = params.n_threads_batch = threads
    params.type_k = params.type_v = getattr(llama_cpp, f"GGML_TYPE_{kv.upper()}")
    params.flash_attn_type = (llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED if flash
                              else llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED)
    context = llama_cpp.llama_init_from_model(model, params)

    batch = llama_cpp.llama_batch_init(len(ids), 0, 1)
    batch.n_tokens = len(ids)
    for i, token in enumerate(ids):
        batch.token[i], batch.pos[i], batch.logits[i] = token, i, 1
        batch.n_seq_id[i], batch.seq_id[i][0] = 1, 0
    if llama_cpp.llama_decode(context, batch) != 0:
        raise SystemExit(f"{path}: llama_decode failed")
    vocab = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
    flat = ctypes.cast(llama_cpp.llama_get_logits(context), ctypes.POINTER(ctypes.c_float))
    out = np.ctypeslib.as_array(flat, (len(ids), vocab)).copy()
    llama_cpp.llama_batch_free(batch)
    llama_cpp.llama_free(context)
    llama_cpp.llama_model_free(model)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path)
    measure.add_arguments(parser, max_abs=0.5, top1=0.99)
    parser.add_argument("--expected", type=Path, help="compare with this file, not with cke")
    args = parser.parse_args()
    llama_cpp.llama_log_set(quiet, ctypes.c_void_p())

    print(measure.HEADER)
    good = True
    for model in args.models:
        ids = measure.prompt(args, model.with_suffix(".ids.json"))
        ours = np.load(args.expected) if args.expected else measure.cke_logits(args, model, ids)
        good &= measure.report(model.name, ours, logits(model, ids), args)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
