# SPDX-License-Identifier: MIT
"""stream.py: how fast an answer streams from Python, beside the same answer from the command, in turns.

    python3 benchmarks/stream.py MODEL [--rounds 8] [--tokens 96] [--threads 2] [-o FILE.json]

Each is a process of its own; the clock runs from the first piece of text to the last, of the same greedy answer.
Prints tokens per second, and the paired ratios Python / command.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

TREE = Path(__file__).resolve().parents[1]
PROMPT = "Once upon a time"
PYTHON = """
import sys, time
sys.path.insert(0, sys.argv[1])
import cke
model = cke.Model(sys.argv[2], threads=int(sys.argv[3]))
times = [time.perf_counter() for piece in model.generate(sys.argv[5], stream=True, max_tokens=int(sys.argv[4]),
                                                         min_tokens=int(sys.argv[4]), temperature=0)]
print(times[-1] - times[0])
"""


def seconds_of_command(args):
    words = [args.cke, "run", args.model, "-p", PROMPT, "-n", str(args.tokens), "--min-tokens", str(args.tokens),
             "-t", str(args.threads)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        first = last = None
        while os.read(process.stdout.fileno(), 65536):
            last = time.perf_counter()
            first = first or last
    return last - first


def seconds_of_python(args):
    words = [sys.executable, "-c", PYTHON, str(TREE / "python"), args.model, str(args.threads), str(args.tokens), PROMPT]
    return float(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=96)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--cke", default=str(TREE / "build/release/cke"))
    parser.add_argument("-o", "--output")
    args = parser.parse_args()
    speeds = {"command": [], "python": []}
    measure = {"command": seconds_of_command, "python": seconds_of_python}
    for i in range(args.rounds):
        for name in ("command", "python") if i % 2 == 0 else ("python", "command"):
            speeds[name].append((args.tokens - 1) / measure[name](args))
    ratios = [p / c for p, c in zip(speeds["python"], speeds["command"])]
    for name, values in speeds.items():
        print(f"{name:8} {statistics.median(values):8.1f} tokens/s ({min(values):.1f} to {max(values):.1f})")
    print(f"python / command {statistics.median(ratios):.3f} ({min(ratios):.2f} to {max(ratios):.2f}), {args.rounds} rounds")
    if args.output:
        Path(args.output).write_text(json.dumps({"model": args.model, "threads": args.threads, "tokens": args.tokens,
                                                 "tokens_per_second": speeds, "ratios": ratios}, indent=1) + "\n")


if __name__ == "__main__":
    main()
