# SPDX-License-Identifier: MIT
"""picture_sameness.py CKE MODEL: one SHA-256 of answers about pictures, with the logprobs of every token.

1, 2 and 3 threads, chunks of 1, 7, 64 and 512 rows, alone and beside others, with a cold and with a warm cache of images."""
import hashlib
import json
import random
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from harness import serving
from pictures import ask, png, question

THREADS, CHUNKS = (1, 2, 3), (1, 7, 64, 512)


def requests() -> list[dict]:
    a, b, c = png(64, 64, 1), png(96, 40, 2), png(33, 120, 3)
    how = {"max_tokens": 12, "logprobs": True, "top_logprobs": 5, "ignore_eos": True}
    return [question(a, "What is this?", temperature=0, **how),
            question("Two pictures: ", a, " and ", b, ". What are they?", temperature=0, **how),
            question(c, "What colour is it?", temperature=1.2, seed=5, **how),
            question("sea " * 70, b, c, a, "Which shape?", temperature=0.8, seed=6, **how),
            question("A picture that ", b, " was here.", temperature=0, **how)]


def others(server, stop: threading.Event, seed: int) -> None:
    """A client with pictures and texts of its own, new ones each time."""
    rng = random.Random(seed)
    while not stop.is_set():
        shown = [png(rng.randint(16, 90), rng.randint(16, 90), rng.randint(100, 10**9))] if rng.random() < 0.5 else []
        ask(server, question(*shown, "sea " * rng.randint(1, 80), max_tokens=rng.randint(1, 20), seed=1))


def sum_of(server, wanted: list[dict], at_once: int) -> str:
    with ThreadPoolExecutor(at_once) as pool:
        return hashlib.sha256(json.dumps([a["choices"] for a in pool.map(lambda r: ask(server, r), wanted)]).encode()).hexdigest()


def main(command: str, model: str) -> None:
    wanted, sums = requests(), {}
    for threads in THREADS:
        for chunk in CHUNKS:
            for company in ("alone", "beside others"):
                with serving(command, model, "--parallel", "4", "--queue", "64", "-t", str(threads), "--chunk", str(chunk)) as server:
                    stop = threading.Event()
                    clients = [threading.Thread(target=others, args=(server, stop, i)) for i in range(2 * (company != "alone"))]
                    for c in clients:
                        c.start()
                    for cache in ("cold", "warm"):
                        encoded = server.metric("images_encoded_total")
                        sums[f"{threads} threads, chunks of {chunk}, {company}, {cache}"] = sum_of(server, wanted, 1 if company == "alone" else 4)
                        encoded = server.metric("images_encoded_total") - encoded
                        assert company != "alone" or encoded == (3 if cache == "cold" else 0), (cache, encoded)
                    stop.set()
                    for c in clients:
                        c.join()
    first = next(iter(sums.values()))
    other = [name for name, s in sums.items() if s != first]
    assert not other, f"other bytes: {other}"
    print(f"{len(wanted)} answers in {len(sums)} ways: {first}")


if __name__ == "__main__":
    main(*sys.argv[1:])
