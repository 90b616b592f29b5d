# SPDX-License-Identifier: MIT
"""llama_cpp_bench.py: llama-bench's tests by way of the library inside llama-cpp-python.

    python benchmarks/peers/llama_cpp_bench.py MODEL.gguf -p 512 -n 64 -d 0,1024 -t 2

The PyPI package has the library and not the program. Prints llama-bench's jsonl fields, one
line per test. Flash attention is on and the KV cache is float16, as llama-bench does with -fa 1.
"""

import argparse
import ctypes
import json
import random
import statistics
import time

import llama_cpp


@llama_cpp.llama_log_callback
def quiet(level, text, user_data):
    pass


class Engine:
    def __init__(self, path, threads, context):
        llama_cpp.llama_log_set(quiet, ctypes.c_void_p())
        params = llama_cpp.llama_model_default_params()
        params.n_gpu_layers = 0
        self.model = llama_cpp.llama_model_load_from_file(path.encode(), params)
        if not self.model:
            raise SystemExit(f"{path}: llama.cpp does not load this file")
        params = llama_cpp.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch = context, 2048, 512
        params.n_threads = params.n_threads_batch = threads
        params.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED
        params.type_k = params.type_v = llama_cpp.GGML_TYPE_F16
        self.context = llama_cpp.llama_init_from_model(self.model, params)
        self.vocab = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model))
        self.random = random.Random(0)
        self.filled = 0  # tokens in the cache

    def keep(self, depth):
        """Forgets what is after so many tokens: everything, if the model cannot go back."""
        memory = llama_cpp.llama_get_memory(self.context)
        if self.filled > depth and not (depth and llama_cpp.llama_memory_seq_rm(memory, 0, depth, -1)):
            llama_cpp.llama_memory_clear(memory, False)
            depth = 0
        self.filled = min(self.filled, depth)

    def feed(self, count, batch):
        """`count` random tokens in batches; computes the logits of the last one of each batch."""
        self.filled += count
        while count > 0:
            size = min(count, batch)
            tokens = (llama_cpp.llama_token * size)(
                *(self.random.randrange(self.vocab) for _ in range(size)))
            if llama_cpp.llama_decode(
                    self.context, llama_cpp.llama_batch_get_one(tokens, size)) != 0:
                raise SystemExit("llama_decode failed")
            llama_cpp.llama_synchronize(self.context)
            count -= size

    def seconds(self, prompt, generate, depth):
        self.keep(depth)
        self.feed(depth - self.filled, 2048)
        start = time.perf_counter()
        self.feed(prompt, 2048)
        self.feed(generate, 1)
        return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("-p", default="512", help="comma-separated tokens of prompts; 0: none")
    parser.add_argument("-n", type=int, default=128, help="tokens to generate")
    parser.add_argument("-d", default="0", help="comma-separated depths")
    parser.add_argument("-t", type=int, default=2, help="threads")
    parser.add_argument("-r", type=int, default=5, help="repetitions")
    args = parser.parse_args()

    prompts = [int(prompt) for prompt in args.p.split(",") if int(prompt)]
    depths = [int(depth) for depth in args.d.split(",")]
    context = max(depths) + max([*prompts, args.n])
    engine = Engine(args.model, args.t, context)
    engine.seconds(min(context - 1, 512), 1, 0)  # touches all memory that later passes use: 512 is n_ubatch
    for depth in depths:
        for prompt, generate in (*((prompt, 0) for prompt in prompts), (0, args.n)):
            speeds = [(prompt + generate) / engine.seconds(prompt, generate, depth)
                      for _ in range(args.r)]
            print(json.dumps({
                "engine": "llama.cpp", "version": llama_cpp.__version__,
                "system_info": llama_cpp.llama_print_system_info().decode(),
                "model_size": llama_cpp.llama_model_size(engine.model),
                "model_n_params": llama_cpp.llama_model_n_params(engine.model),
                "n_threads": args.t, "n_prompt": prompt, "n_gen": generate, "n_depth": depth,
                "avg_ts": statistics.fmean(speeds),
                "stddev_ts": statistics.stdev(speeds) if len(speeds) > 1 else 0.0,
                "samples_ts": speeds}), flush=True)


if __name__ == "__main__":
    main()
