# SPDX-License-Identifier: MIT
"""picture_soak.py CKE MODEL PICTURES: so many pictures, no two the same, and damaged ones between them: memory is flat.

The features of pictures are kept, so that one that comes again costs nothing; that much may be added."""
import json
import os
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness import serving
from pictures import ask, png, question
from soak import resident

CLIENTS, ROUNDS, DAMAGED = 4, 10, 10


def client(server, first: int, count: int) -> int:
    """Returns the rows of the prompts."""
    rows = 0
    for seed in range(first, first + count):
        rng = random.Random(seed)
        file = png(rng.randint(8, 120), rng.randint(8, 120), seed)
        if seed % DAMAGED == 0:
            status, answer = server.request("POST", "/v1/chat/completions", question(file[:rng.randint(0, len(file) - 13)], "x", max_tokens=1))
            assert status == 400, (seed, status, answer[:300])
        rows += ask(server, question(file, "What is this?", max_tokens=3))["usage"]["prompt_tokens"]
    return rows


def main(command: str, model: str, pictures: str) -> None:
    vision = json.loads((Path(model) / "config.json").read_text())["vision_config"]
    row_bytes = 4 * vision["out_hidden_size"] * (1 + len(vision["deepstack_visual_indexes"]))
    each = int(pictures) // ROUNDS // CLIENTS
    with serving(command, model, "--parallel", str(CLIENTS)) as server:
        sizes, kept, begun = [], [], time.monotonic()
        with ThreadPoolExecutor(CLIENTS) as pool:
            for r in range(ROUNDS):
                kept.append(row_bytes * sum(pool.map(lambda c: client(server, (r * CLIENTS + c) * each, each), range(CLIENTS))))
                sizes.append(resident(server.process.pid))
        took, half = time.monotonic() - begun, ROUNDS // 2
        shown = each * ROUNDS * CLIENTS
        assert server.metric("images_encoded_total") == shown
        grown, features = sizes[-1] - sizes[half - 1], sum(kept[half:])
        assert grown <= features + (2 << 20), f"{grown} bytes more in the second half, {features} of them features: {sizes}"
        files = len(os.listdir(f"/proc/{server.process.pid}/fd"))
        assert files < 40, f"{files} open files"
        print(f"{shown} pictures in {took:.0f} s; {grown / 2**20:.2f} MiB more in the second half, at most {features / 2**20:.2f} of it features, {sizes[-1] / 2**20:.0f} in all")


if __name__ == "__main__":
    main(*sys.argv[1:])
