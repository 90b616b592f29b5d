# SPDX-License-Identifier: MIT
"""stream.py: how fast an answer streams from Python, beside the same answer from the command.

    python3 benchmarks/stream.py MODEL [--rounds 8] [--tokens 256] [--threads 2] [--slice 0.5] [-o FILE.json]

A round is the same greedy answer from either, each in a process of its own. They take turns of --slice seconds: one is
stopped (SIGSTOP) while the other runs, so that both meet the same minutes of the machine. The clock of each counts the
turns from its first piece of text to its last. Prints tokens per second, and the paired ratios Python / command.
"""
import argparse
import json
import os
import select
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

TREE = Path(__file__).resolve().parents[1]
PROMPT = "Once upon a time"
PYTHON = """
import os, sys
sys.path.insert(0, sys.argv[1])
import cke
model = cke.Model(sys.argv[2], threads=int(sys.argv[3]))
for piece in model.generate(sys.argv[5], stream=True, max_tokens=int(sys.argv[4]), min_tokens=int(sys.argv[4]),
                            temperature=0):
    os.write(1, piece.encode())
"""


class Stream:
    """An answer that is written to a pipe, stopped after its first piece."""

    def __init__(self, words):
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.seconds, self.ended = 0.0, False
        if not os.read(self.process.stdout.fileno(), 65536):
            sys.exit(f"{words[0]} wrote nothing")
        self.process.send_signal(signal.SIGSTOP)

    def run(self, seconds):
        begin = last = time.perf_counter()
        self.process.send_signal(signal.SIGCONT)
        while not self.ended and (left := begin + seconds - time.perf_counter()) > 0:
            if select.select([self.process.stdout], [], [], left)[0]:
                self.ended = not os.read(self.process.stdout.fileno(), 65536)
                last = last if self.ended else time.perf_counter()
        if self.ended:
            self.seconds += last - begin
            if self.process.wait():
                sys.exit(f"{self.process.args[0]} failed")
        else:
            self.process.send_signal(signal.SIGSTOP)
            self.seconds += time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--slice", type=float, default=0.5)
    parser.add_argument("--cke", default=str(TREE / "build/release/cke"))
    parser.add_argument("-o", "--output")
    args = parser.parse_args()
    words = {
        "command": [args.cke, "run", args.model, "-p", PROMPT, "-n", str(args.tokens), "--min-tokens",
                    str(args.tokens), "-t", str(args.threads)],
        "python": [sys.executable, "-c", PYTHON, str(TREE / "python"), args.model, str(args.threads), str(args.tokens),
                   PROMPT]}
    speeds = {"command": [], "python": []}
    for i in range(args.rounds):
        names = list(words) if i % 2 == 0 else list(reversed(words))
        streams = {name: Stream(words[name]) for name in names}
        while not all(s.ended for s in streams.values()):
            for s in streams.values():
                if not s.ended:
                    s.run(args.slice)
        for name, s in streams.items():
            speeds[name].append((args.tokens - 1) / s.seconds)
    ratios = [p / c for p, c in zip(speeds["python"], speeds["command"])]
    for name, values in speeds.items():
        print(f"{name:8} {statistics.median(values):8.1f} tokens/s ({min(values):.1f} to {max(values):.1f})")
    print(f"python / command {statistics.median(ratios):.3f} ({min(ratios):.2f} to {max(ratios):.2f}), {args.rounds} rounds")
    if args.output:
        Path(args.output).write_text(json.dumps({"model": args.model, "threads": args.threads, "tokens": args.tokens,
                                                 "tokens_per_second": speeds, "ratios": ratios}, indent=1) + "\n")


if __name__ == "__main__":
    main()
