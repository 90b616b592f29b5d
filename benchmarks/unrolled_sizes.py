# SPDX-License-Identifier: MIT
"""unrolled_sizes.py --xsimd FOLDER: up to which size a model gains from being straight-line code.

    build/unrolled-venv/bin/python benchmarks/unrolled_sizes.py --xsimd build/deps/xsimd-14.1.0/include

Qwen3s of random weights in the proportions of assets/tiny, 64 to 1,024 wide, decode on one thread, unrolled and over
tables in turns. The venv, the program and its figures are those of unrolled_peers.py.
"""
import argparse
import json
import os
import statistics
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from unrolled_peers import PROMPT, ROOT, TINY, compile_cke, matrices, run, spread

CASES = [("Q8_0", width) for width in (64, 128, 256, 384, 512, 1024)] + [("F32", width) for width in (64, 128, 256)]


def config_of(width: int) -> dict:
    return json.loads((TINY / "config.json").read_text()) | {
        "hidden_size": width, "intermediate_size": 3 * width, "num_attention_heads": width // 32,
        "num_key_value_heads": width // 64}


def shape_of(width: int) -> str:
    return (f".vocab = 1536, .dim = {width}, .hidden = {3 * width}, .layers = 5, .heads = {width // 32}, "
            f".kv_heads = {width // 64}, .head_dim = 32, .rope = {{.theta = 1e4}}")


def write_model(folder: Path, width: int) -> None:
    config, draw = config_of(width), np.random.default_rng(1)
    kv, ones = width // 2, lambda n: np.ones(n, np.float32)

    def matrix(rows: int, columns: int) -> np.ndarray:
        return draw.normal(0, columns ** -0.5, (rows, columns)).astype(np.float32)

    weights = {"model.embed_tokens.weight": matrix(config["vocab_size"], width), "model.norm.weight": ones(width)}
    for layer in range(config["num_hidden_layers"]):
        weights |= {f"model.layers.{layer}.{name}.weight": value for name, value in {
            "input_layernorm": ones(width), "post_attention_layernorm": ones(width), "self_attn.q_norm": ones(32),
            "self_attn.k_norm": ones(32), "self_attn.q_proj": matrix(width, width),
            "self_attn.k_proj": matrix(kv, width), "self_attn.v_proj": matrix(kv, width),
            "self_attn.o_proj": matrix(width, width),
            "mlp.gate_proj": matrix(3 * width, width), "mlp.up_proj": matrix(3 * width, width),
            "mlp.down_proj": matrix(width, 3 * width)}.items()}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    save_file(weights, folder / "model.safetensors")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xsimd", type=Path, required=True, help="a folder that holds xsimd/xsimd.hpp")
    parser.add_argument("--cxx", default="g++")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--count", type=int, default=64, help="ids")
    parser.add_argument("--seconds", type=float, default=0.4, help="of an executor in a round")
    args = parser.parse_args()
    folder = ROOT / "build/unrolled-peers"
    print("| format, width | parameters | MB a token | over tables: tokens/s | unrolled: tokens/s | ratio |")
    print("|---|---|---|---|---|---|", flush=True)
    loads = []
    for policy, width in CASES:
        model, program = folder / f"random-{width}", folder / f"{policy.lower()}-{width}"
        write_model(model, width)
        compile_cke(args, program, policy, shape_of(width))
        rates = {"tables": [], "unrolled": []}
        for i in range(args.rounds):
            loads.append(os.getloadavg()[0])
            for how in sorted(rates, reverse=i % 2 == 1):
                times = json.loads(run(program, model, how, PROMPT, str(args.count), str(args.seconds)))["seconds"]
                rates[how].append(args.count / statistics.median(cpu for cpu, _ in times))
        numbers = matrices(config_of(width))
        ratios = [b / a for a, b in zip(*rates.values())]
        megabytes = numbers * (34 / 32 if policy == "Q8_0" else 4) / 1e6
        print(f"| {policy}, {width} | {numbers / 1e6:.1f} M | {megabytes:.1f} | "
              f"{' | '.join(format(statistics.median(r), ',.0f') for r in rates.values())} | {spread(ratios, '.2f')} |",
              flush=True)
        print(f"{policy}, {width}: done", file=sys.stderr)
    print(f"\nLoad average of a round: {spread(loads, '.1f')}.")


if __name__ == "__main__":
    main()
