# SPDX-License-Identifier: MIT
"""serve.py CKE MODEL [--clients 1,2,4,8] [--tokens 32] [--rounds 3]: tokens per second of cke serve by clients, beside cke bench.

Each client asks for one answer at a time. The time of a token is the server's own (tpot_seconds in /metrics): from one token
of an answer to its next, whatever else the pass did. Rounds take turns, so that the machine's drift falls on all rows."""
import argparse
import json
import random
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests/serve"))
from harness import serving  # noqa: E402


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("cke"), p.add_argument("model")
    p.add_argument("--clients", default="1,2,4,8")
    p.add_argument("--tokens", type=int, default=32)
    p.add_argument("--rounds", type=int, default=3)
    a = p.parse_args()
    clients = [int(n) for n in a.clients.split(",")]
    rng = random.Random(1)
    milliseconds: dict[int, list[float]] = {n: [] for n in clients}
    bench: list[float] = []

    def ask(server) -> None:
        ids = [rng.randrange(1000) for _ in range(16)]  # no cache knows them
        server.post("/v1/completions", {"prompt": ids, "max_tokens": a.tokens, "temperature": 0, "ignore_eos": True})

    with serving(a.cke, a.model, "--parallel", str(max(clients)), "-c", "512") as server:
        ask(server)
        for _ in range(a.rounds):
            out = subprocess.run([a.cke, "bench", a.model, "-p", "0", "-n", str(a.tokens), "-d", "16", "-c", "512", "-r", "1", "-o", "json"],
                                 capture_output=True, text=True, check=True).stdout
            bench.append(1000 / json.loads(out)[0]["avg_ts"])
            for n in clients:
                before = server.metric("tpot_seconds_sum"), server.metric("tpot_seconds_count")
                with ThreadPoolExecutor(n) as pool:
                    list(pool.map(lambda _: ask(server), range(n)))
                after = server.metric("tpot_seconds_sum"), server.metric("tpot_seconds_count")
                milliseconds[n].append(1000 * (after[0] - before[0]) / (after[1] - before[1]))
    print("| clients | ms a token | tokens/s together |\n|---:|---:|---:|")
    print(f"| `cke bench` | {statistics.median(bench):.2f} | {1000 / statistics.median(bench):.1f} |")
    for n, ms in milliseconds.items():
        print(f"| {n} | {statistics.median(ms):.2f} | {1000 * n / statistics.median(ms):.1f} |")


if __name__ == "__main__":
    main()
