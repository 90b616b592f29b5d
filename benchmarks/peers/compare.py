# SPDX-License-Identifier: MIT
"""compare.py: cke against llama.cpp on one GGUF file, interleaved, on the same cores.

    python benchmarks/peers/compare.py MODEL.gguf [-p 512 -n 64 -d 0,1024 -t 2 --rounds 6]

A round runs both engines, each in a process of its own, one after the other; every other round
swaps the order. So drift of the machine falls on both, and each round gives one paired ratio.
Needs build/release/cke and the PyPI packages llama-cpp-python and gguf; and a machine that does
nothing else, so the load is shown at the top. Results also go to --save, one JSON line per test.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import gguf

HERE = Path(__file__).resolve().parent
CKE, PEER = "cke", "llama.cpp"


def bytes_per_token(path):
    """(bytes of weights, bytes of float16 KV cache per earlier token) that one new token reads."""
    reader = gguf.GGUFReader(path)
    sizes = {tensor.name: int(tensor.n_bytes) for tensor in reader.tensors}
    if "output.weight" in sizes:
        del sizes["token_embd.weight"]  # untied: only one row of it is read

    def number(key):
        architecture = reader.get_field("general.architecture").contents()
        return reader.get_field(f"{architecture}.{key}").contents()

    row = number("attention.key_length") + number("attention.value_length")
    return sum(sizes.values()), 2 * number("block_count") * number("attention.head_count_kv") * row


def run(engine, args):
    """{(n_prompt, n_gen, n_depth): tokens per second} of one process."""
    options = [args.model, "-p", str(args.p), "-n", str(args.n), "-d", args.d,
               "-t", str(args.t), "-r", "1"]
    if engine == CKE:
        command = [args.cke.resolve(), "bench", *options, "-o", "jsonl"]
    else:
        command = [sys.executable, HERE / "llama_cpp_bench.py", *options]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{engine}: {done.stderr.strip() or done.returncode}")
    tests = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {(t["n_prompt"], t["n_gen"], t["n_depth"]): t["avg_ts"] for t in tests}


def test_name(test):
    prompt, generate, depth = test
    name = f"pp{prompt}" if prompt else f"tg{generate}"
    return f"{name} @ d{depth}" if depth else name


def speed_range(samples):
    return f"{statistics.median(samples):.2f} ({min(samples):.2f}..{max(samples):.2f})"


def table(rounds, weights, kv):
    """Markdown: medians with their range, decode bandwidth, and the ratios of paired runs."""
    print("| test | cke t/s | llama.cpp t/s | cke GB/s | llama.cpp GB/s | cke / llama.cpp |")
    print("|---|---|---|---|---|---|")
    for test in rounds[0][CKE]:
        speeds = {engine: [r[engine][test] for r in rounds] for engine in (CKE, PEER)}
        ratios = [ours / theirs for ours, theirs in zip(speeds[CKE], speeds[PEER])]
        prompt, generate, depth = test
        gigabytes = (weights + kv * (depth + generate / 2)) / 1e9
        # Prefill reads the weights once per batch: its bandwidth says nothing.
        bandwidth = ["-" if prompt else f"{statistics.median(speeds[engine]) * gigabytes:.1f}"
                     for engine in (CKE, PEER)]
        print(f"| {test_name(test)} | {speed_range(speeds[CKE])} | {speed_range(speeds[PEER])} "
              f"| {bandwidth[0]} | {bandwidth[1]} | {speed_range(ratios)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("-p", type=int, default=512, help="tokens of prompt")
    parser.add_argument("-n", type=int, default=64, help="tokens to generate")
    parser.add_argument("-d", default="0,1024", help="comma-separated depths")
    parser.add_argument("-t", type=int, default=2, help="threads")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--cke", type=Path, default=HERE.parents[1] / "build/release/cke")
    parser.add_argument("--save", type=Path, help="append raw results to this jsonl file")
    args = parser.parse_args()
    if not args.cke.exists():
        parser.error(f"{args.cke} does not exist: build it, or name it with --cke")

    weights, kv = bytes_per_token(args.model)
    print(f"{Path(args.model).name}: {weights / 1e9:.3f} GB of weights, {kv / 1e3:.1f} kB of KV per "
          f"token; {args.t} threads; {args.rounds} rounds; load average {os.getloadavg()[0]:.2f}\n")
    rounds = []
    for i in range(args.rounds):
        order = (CKE, PEER) if i % 2 == 0 else (PEER, CKE)
        rounds.append({engine: run(engine, args) for engine in order})
        if rounds[-1][CKE].keys() != rounds[-1][PEER].keys():
            raise SystemExit(f"the engines ran different tests: {rounds[-1]}")
        print(f"round {i + 1} of {args.rounds} done", file=sys.stderr)
        if args.save:
            with args.save.open("a") as out:
                for engine, speeds in rounds[-1].items():
                    for test, speed in speeds.items():
                        out.write(json.dumps({"round": i, "order": order, "engine": engine,
                                              "test": test_name(test), "ts": speed}) + "\n")
    table(rounds, weights, kv)


if __name__ == "__main__":
    main()
