# SPDX-License-Identifier: MIT
"""soak.py CKE MODEL REQUESTS: so many requests of all kinds, some of which hang up: none lost, memory flat, files closed,
and the server's counters are the clients' own."""
import http.client
import json
import os
import random
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from harness import serving

CLIENTS = 8
made, prompts, lock = 0, 0, threading.Lock()


def resident(pid: int) -> int:
    with open(f"/proc/{pid}/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def client(server, count: int, seed: int) -> int:
    """Keeps its connection as long as it can. Returns how many answers were whole."""
    global made, prompts
    rng = random.Random(seed)
    connection, whole = http.client.HTTPConnection(server.host, timeout=60), 0
    for _ in range(count):
        kind = rng.random()
        body = {"messages": [{"role": "user", "content": "sea " * rng.randint(1, 40)}], "max_tokens": rng.randint(1, 24), "seed": 1, "stream": kind < 0.5}
        if body["stream"]:
            body["stream_options"] = {"include_usage": True}
        path, wanted = "/v1/chat/completions", 200
        if kind > 0.9:
            body, wanted = {"messages": [{"role": "user", "content": "x"}], "temperature": "hot"}, 400
        elif kind > 0.85:
            path, body = "/tokenize", {"content": "the sea and the moon"}
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        if kind < 0.05 or 0.5 < kind < 0.55:  # goes away, with the answer under way
            time.sleep(rng.random() / 500)
            connection.close()
            continue
        response = connection.getresponse()
        answer = response.read()
        assert response.status == wanted, (response.status, answer[:300])
        whole += 1
        if wanted == 400 or path == "/tokenize":
            continue
        usage = json.loads(answer.decode().split("\n\n")[-3].removeprefix("data: ") if body["stream"] else answer)["usage"]
        with lock:
            made += usage["completion_tokens"]
            prompts += usage["prompt_tokens"] - usage["prompt_tokens_details"]["cached_tokens"]
    connection.close()
    return whole


def main(command: str, model: str, requests: str) -> None:
    with serving(command, model, "--parallel", "4") as server:
        pid = server.process.pid
        sizes, begun = [], time.monotonic()
        rounds = 10
        with ThreadPoolExecutor(CLIENTS) as pool:
            whole = 0
            for r in range(rounds):
                whole += sum(pool.map(lambda c: client(server, int(requests) // rounds // CLIENTS, 1000 * r + c), range(CLIENTS)))
                sizes.append(resident(pid))
        took = time.monotonic() - begun
        while server.metric("requests_processing") or server.metric("requests_deferred"):
            time.sleep(0.01)
        files = len(os.listdir(f"/proc/{pid}/fd"))
        grown = sizes[-1] - sizes[rounds // 2]
        assert grown <= 4 << 20, f"{grown} bytes more in the second half: {sizes}"
        assert files < 40, f"{files} open files"
        assert server.metric("requests_cancelled_total") > 0
        # Who hung up was given tokens too: the others' are at most the server's.
        assert server.metric("tokens_predicted_total") >= made and server.metric("prompt_tokens_total") >= prompts
        print(f"{whole} whole answers of {requests} requests in {took:.0f} s; {grown / 2**20:.2f} MiB more in the second half, {files} open files")


if __name__ == "__main__":
    main(*sys.argv[1:])
