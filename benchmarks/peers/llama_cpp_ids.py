# SPDX-License-Identifier: MIT
"""llama_cpp_ids.py FILE.gguf PROMPT COUNT SECONDS: a model in llama.cpp, one id a pass, one thread.

Keys and values are f16 and flash attention is on, which is faster here than f32 and than without. unrolled_peers.py
says what the other arguments and the output are. Needs the PyPI package llama-cpp-python.
"""
import ctypes
import json
import sys
import time

import llama_cpp
import numpy as np


@llama_cpp.llama_log_callback
def quiet(level, text, user_data):
    pass


def main() -> None:
    path, prompt, count, seconds = sys.argv[1:]
    ids, count = [int(i) for i in prompt.split(",")], int(count)
    before = len(ids)
    llama_cpp.llama_log_set(quiet, ctypes.c_void_p())
    params = llama_cpp.llama_model_default_params()
    model = llama_cpp.llama_model_load_from_file(path.encode(), params)
    if not model:
        raise SystemExit(f"{path}: llama.cpp does not load this file")
    params = llama_cpp.llama_context_default_params()
    params.n_ctx = params.n_batch = params.n_ubatch = before + count
    params.n_threads = params.n_threads_batch = 1
    params.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED
    params.type_k = params.type_v = llama_cpp.GGML_TYPE_F16
    context = llama_cpp.llama_init_from_model(model, params)
    vocab = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
    memory = llama_cpp.llama_get_memory(context)
    batch = llama_cpp.llama_batch_init(1, 0, 1)
    batch.n_tokens, batch.n_seq_id[0], batch.seq_id[0][0], batch.logits[0] = 1, 1, 0, 1
    token, position, decode = batch.token, batch.pos, llama_cpp.llama_decode

    def feed(first: int, last: int) -> None:
        for t in range(first, last):
            token[0], position[0] = ids[t], t
            if decode(context, batch) != 0:
                raise SystemExit(f"{path}: llama_decode failed at position {t}")

    feed(0, before)
    for t in range(before, before + count):
        logits = np.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(context, 0), (vocab,))
        ids.append(int(logits.argmax()))
        if t + 1 < before + count:
            feed(t, t + 1)
    times, end = [], time.perf_counter() + float(seconds)
    while not times or time.perf_counter() < end:
        llama_cpp.llama_memory_seq_rm(memory, 0, before, -1)
        wall, cpu = time.perf_counter(), time.process_time()
        feed(before, before + count)
        llama_cpp.llama_synchronize(context)
        took = time.process_time() - cpu
        times.append([took, time.perf_counter() - wall])
    print(json.dumps({"ids": ids[before:], "seconds": times}))


if __name__ == "__main__":
    main()
