# SPDX-License-Identifier: MIT
"""ranks.py: two ranks of one thread beside two threads of one process: tokens a second, and memory beside the plan's.

    python3 benchmarks/ranks.py MODEL ... [--rounds 5] [--tokens 32] [--cke build/release/cke] [-o FILE.json]

Each round runs `cke bench` once in every way, so that what else the machine does falls on all alike; ratios are within
a round. Memory is a rank's anonymous memory at its largest, seen every 20 ms in /proc. Prints a Markdown table.
Needs OpenMPI, and nothing else that runs.
"""
import argparse
import json
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

TREE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TREE / "tests/tools"))
from ranks import ranks_of  # noqa: E402

WAYS = {"1 thread": (1, 1), "2 threads": (1, 2), "2 ranks of 1 thread": (2, 1)}  # ranks, threads of each


def memory_of(process: int) -> int:
    """Anonymous memory in bytes; 0 once the process has ended."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("RssAnon")), 0)


def bench(cke: str, model: str, ranks: int, threads: int, tokens: int) -> tuple[float, list[int]]:
    """Tokens a second, and each rank's memory."""
    words = [cke, "bench", model, "-t", str(threads), "-p", "0", "-n", str(tokens), "-r", "1", "-o", "json"]
    if ranks > 1:
        words = [shutil.which("mpirun"), "--allow-run-as-root", "--oversubscribe", "--bind-to", "none",
                 "-n", str(ranks), *words]
    job = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    most = [0] * ranks
    while job.poll() is None:
        for rank, process in (ranks_of(job.pid) if ranks > 1 else {0: job.pid}).items():
            most[rank] = max(most[rank], memory_of(process))
        time.sleep(0.02)
    said = job.stdout.read()
    if job.returncode:
        raise SystemExit(f"{' '.join(words)}: exit {job.returncode}")
    return json.loads(said)[0]["avg_ts"], most


def compare(cke: str, model: str, rounds: int, tokens: int) -> dict:
    for ranks, threads in WAYS.values():
        bench(cke, model, ranks, threads, 1)  # compiles, and brings the file into memory
    plan = json.loads(subprocess.run([cke, "inspect", model, "--ranks", "2", "--json"], check=True, capture_output=True,
                                     text=True).stdout)["ranks"]
    speeds, memory = {way: [] for way in WAYS}, {}
    for _ in range(rounds):
        for way, (ranks, threads) in WAYS.items():
            speed, memory[way] = bench(cke, model, ranks, threads, tokens)
            speeds[way].append(speed)
    ratios = [a / b for a, b in zip(speeds["2 ranks of 1 thread"], speeds["2 threads"])]
    return {"model": Path(model).name, "tokens_per_s": speeds, "anonymous_bytes": memory, "ranks_to_threads": ratios,
            "planned_weight_bytes": plan["weight_bytes"]}


def row(of: dict) -> str:
    speeds = " | ".join(f"{statistics.median(of['tokens_per_s'][way]):.1f}" for way in WAYS)
    ratios = sorted(of["ranks_to_threads"])
    memory = of["anonymous_bytes"]
    megabytes = [", ".join(f"{n / 1e6:.0f}" for n in numbers)
                 for numbers in (memory["1 thread"], memory["2 ranks of 1 thread"], of["planned_weight_bytes"])]
    return (f"| {of['model']} | {speeds} | {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}) | "
            + " | ".join(megabytes) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--cke", default=str(TREE / "build/release/cke"))
    parser.add_argument("-o", "--output")
    args = parser.parse_args()
    all_of = []
    print(f"| model | {' | '.join(f'{way}, t/s' for way in WAYS)} | ranks / threads (least to most) "
          "| MB of 1 process | MB of each of 2 ranks | their weights, planned |\n|---|" + "---|" * 7)
    for model in args.models:
        all_of.append(compare(args.cke, model, args.rounds, args.tokens))
        print(row(all_of[-1]), flush=True)
    if args.output:
        Path(args.output).write_text(json.dumps(all_of, indent=1) + "\n")


if __name__ == "__main__":
    main()
