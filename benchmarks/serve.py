# SPDX-License-Identifier: MIT
"""serve.py: throughput and latency of cke serve by number of clients.

    serve.py CKE MODEL [--peer PYTHON] [--clients 1,2,4,8,16,32,64] [--tokens 32] [--rounds 3]

Compares with `cke bench` and, for a GGUF file, with the server of llama-cpp-python ([server], in PYTHON's packages).
Each client has one request at a time. The time per token is cke's own (tpot_seconds in /metrics): from one token of an
answer to the next, including the other work of the pass. Rounds alternate, so that the machine's drift affects all."""
import argparse
import contextlib
import http.client
import json
import random
import socket
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests/serve"))
from harness import serving  # noqa: E402

CONTEXT = 512


def ask(host: str, body: dict) -> tuple[int, float]:
    """(tokens generated, seconds)."""
    begun = time.monotonic()
    connection = http.client.HTTPConnection(host, timeout=600)
    connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    answer = response.read()
    connection.close()
    assert response.status == 200, answer
    return json.loads(answer)["usage"]["completion_tokens"], time.monotonic() - begun


@contextlib.contextmanager
def peer(python: str, model: str, threads: int):
    """Starts the peer and returns its host. Requests queue; batch and cache are as in `cke bench --peers`."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    server = subprocess.Popen([python, "-m", "llama_cpp.server", "--model", model, "--host", "127.0.0.1", "--port", str(port), "--n_ctx", str(CONTEXT), "--n_threads", str(threads),
                               "--n_threads_batch", str(threads), "--n_batch", "512", "--flash_attn", "true", "--interrupt_requests", "false", "--verbose", "false"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            assert server.poll() is None, f"llama_cpp.server ended with {server.returncode}: does {python} have llama-cpp-python[server]?"
            with contextlib.suppress(OSError):
                ask(f"127.0.0.1:{port}", {"prompt": "x", "max_tokens": 1})
                break
            time.sleep(0.1)
        yield f"127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


class Load:
    """The results of one server for one number of clients, over all rounds."""

    def __init__(self):
        self.rates: list[float] = []
        self.seconds: list[float] = []

    def run(self, host: str, clients: int, tokens: int, own: dict) -> None:
        # No prefix cache knows these random prompts.
        bodies = [{"prompt": " ".join(f"{random.randrange(10**6)}" for _ in range(4)), "max_tokens": tokens, "temperature": 0} | own for _ in range(clients)]
        begun = time.monotonic()
        with ThreadPoolExecutor(clients) as pool:
            answers = list(pool.map(lambda b: ask(host, b), bodies))
        self.rates.append(sum(n for n, _ in answers) / (time.monotonic() - begun))
        self.seconds += [s for _, s in answers]

    def rate(self) -> float:
        return statistics.median(self.rates)

    def latency(self) -> str:
        return f"{statistics.median(self.seconds):.2f}, {max(self.seconds):.2f}"


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("cke"), p.add_argument("model")
    p.add_argument("--peer", metavar="PYTHON")
    p.add_argument("--clients", default="1,2,4,8,16,32,64")
    p.add_argument("--tokens", type=int, default=32)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--threads", type=int, default=2)
    a = p.parse_args()
    clients = [int(n) for n in a.clients.split(",")]
    bench: list[float] = []
    milliseconds: dict[int, list[float]] = {n: [] for n in clients}
    ours, theirs = {n: Load() for n in clients}, {n: Load() for n in clients}
    with serving(a.cke, a.model, "--parallel", str(max(clients)), "-c", str(CONTEXT), "-t", str(a.threads)) as server, \
            peer(a.peer, a.model, a.threads) if a.peer else contextlib.nullcontext() as other:
        Load().run(server.host, 1, a.tokens, {})
        for _ in range(a.rounds):
            out = subprocess.run([a.cke, "bench", a.model, "-p", "0", "-n", str(a.tokens), "-d", "16", "-c", str(CONTEXT), "-t", str(a.threads), "-r", "1", "-o", "json"],
                                 capture_output=True, text=True, check=True).stdout
            bench.append(1000 / json.loads(out)[0]["avg_ts"])
            for n in clients:
                before = server.metric("tpot_seconds_sum"), server.metric("tpot_seconds_count")
                ours[n].run(server.host, n, a.tokens, {"ignore_eos": True})
                after = server.metric("tpot_seconds_sum"), server.metric("tpot_seconds_count")
                milliseconds[n].append(1000 * (after[0] - before[0]) / (after[1] - before[1]))
                if other:
                    theirs[n].run(other, n, a.tokens, {})
    print(f"`cke bench`: {statistics.median(bench):.2f} ms a token\n")
    head, row = "| clients | ms a token | tokens/s together | seconds for an answer (median, longest) |", "|---:|---:|---:|---:|"
    if a.peer:
        head, row = head + " llama-cpp-python: tokens/s together | seconds for an answer | ratio of tokens/s |", row + "---:|---:|---:|"
    print(head + "\n" + row)
    for n in clients:
        line = f"| {n} | {statistics.median(milliseconds[n]):.2f} | {ours[n].rate():.1f} | {ours[n].latency()} |"
        if a.peer:
            ratios = [x / y for x, y in zip(ours[n].rates, theirs[n].rates)]
            line += f" {theirs[n].rate():.1f} | {theirs[n].latency()} | {statistics.median(ratios):.2f} ({min(ratios):.2f}..{max(ratios):.2f}) |"
        print(line)


if __name__ == "__main__":
    main()
