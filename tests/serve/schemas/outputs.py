# SPDX-License-Identifier: MIT
"""outputs.py CKE MODEL COUNT: so many random JSON Schemas as response_format: every answer parses, and is a document of its schema
by the PyPI package jsonschema, whatever the model would write and however early its tokens end."""
import json
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jsonschema

sys.path.append(str(Path(__file__).resolve().parent.parent))
from harness import serving  # noqa: E402
from random_schema import schema  # noqa: E402


def check(server, seed: int) -> str:
    """How the answer ended."""
    rng = random.Random(seed)
    wanted = schema(rng)
    most = rng.choice([150, 300, 800])
    status, answer = server.request("POST", "/v1/chat/completions", {
        "messages": [{"role": "user", "content": "What can you tell me about the sea?"}], "seed": seed, "temperature": rng.choice([0, 0.7, 1, 1.5, 3]), "max_completion_tokens": most,
        "chat_template_kwargs": {"enable_thinking": rng.random() < 0.5},
        "response_format": {"type": "json_schema", "json_schema": {"name": "random", "schema": wanted}}})
    assert status == 200, (wanted, answer)
    choice, used = json.loads(answer)["choices"][0], json.loads(answer)["usage"]["completion_tokens"]
    assert used <= most, (used, most)
    document = json.loads(choice["message"]["content"])
    jsonschema.Draft202012Validator(wanted, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER).validate(document)
    return choice["finish_reason"]


def main(command: str, model: str, count: str) -> None:
    with serving(command, model, "--parallel", "8", "-c", "2048") as server, ThreadPoolExecutor(8) as pool:
        ends = list(pool.map(lambda seed: check(server, seed), range(int(count))))
    print(f"{count} random schemas: every answer a document of its schema; {ends.count('length')} of them brought to an end by max_completion_tokens")


if __name__ == "__main__":
    main(*sys.argv[1:])
