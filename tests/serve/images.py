# SPDX-License-Identifier: MIT
"""images.py CKE DATA: the openai package sends images; answers are those of `cke run --image`, whole and streamed.

DATA: tests/data/vision, whose checkpoints are random, so every answer is a test of each number before it."""
import base64
import json
import subprocess
import sys
import threading
from pathlib import Path

import openai

from harness import Server, serving

FORMAT = ("--format", "f32")


def data_uri(file: Path) -> str:
    return "data:image/png;base64," + base64.b64encode(file.read_bytes()).decode()


def part(p: dict, images: Path) -> dict:
    if p["type"] != "image":
        return p
    return {"type": "image_url", "image_url": {"url": data_uri(images / p["image"])}}


def messages_of(case: dict, images: Path) -> list[dict]:
    return [m | {"content": [part(p, images) for p in m["content"]]} for m in case["messages"]]


def run_ids(command: str, model: Path, case: dict, images: Path) -> list[int]:
    files = [word for name in case["images"] for word in ("--image", str(images / name))]
    out = subprocess.run([command, "run", str(model), *FORMAT, "--tokens", ",".join(map(str, case["ids"])), *files, "--ids", "-n", "16", "--temp", "0"],
                         check=True, capture_output=True, text=True).stdout
    return json.loads(out)


def answers(command: str, model: Path, images: Path, server: Server, client: openai.OpenAI) -> None:
    cases = json.loads((model / "cases.json").read_text())["cases"]
    (card,) = client.models.list()
    assert card.input_modalities == ["text", "image"], card
    for case in cases:
        ids = run_ids(command, model, case, images)
        assert ids == case["greedy"], (ids, case["greedy"])
        wanted = [server.post("/detokenize", {"tokens": [i]})["content"] for i in ids]
        how = dict(model=card.id, messages=messages_of(case, images), temperature=0, max_tokens=len(ids), extra_body={"ignore_eos": True})
        whole = client.chat.completions.create(logprobs=True, **how)
        found = [t.token for t in whole.choices[0].logprobs.content]
        assert found == wanted, (case["name"], found, wanted)
        assert whole.usage.prompt_tokens == len(case["ids"]), (case["name"], whole.usage)
        encoded = server.metric("images_encoded_total")
        stream = client.chat.completions.create(stream=True, logprobs=True, **how)
        assert [t.token for e in stream if e.choices and e.choices[0].logprobs for t in e.choices[0].logprobs.content] == wanted, case["name"]
        assert server.metric("images_encoded_total") == encoded, "an image was encoded again"
    # All at once: images are encoded beside the answers of others, and nobody's answer is another.
    found = {}

    def one(i: int, case: dict) -> None:
        how = dict(model=card.id, messages=messages_of(case, images), temperature=0, max_tokens=len(case["greedy"]), extra_body={"ignore_eos": True}, logprobs=True)
        found[i] = [t.token for t in client.chat.completions.create(**how).choices[0].logprobs.content]

    threads = [threading.Thread(target=one, args=(i, case)) for i, case in enumerate(cases * 3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for i, case in enumerate(cases * 3):
        assert found[i] == [server.post("/detokenize", {"tokens": [t]})["content"] for t in case["greedy"]], case["name"]


def refusals(images: Path, client: openai.OpenAI) -> None:
    def refused(url: str, code: str) -> None:
        try:
            client.chat.completions.create(model=client.models.list().data[0].id, max_tokens=1, messages=[
                {"role": "user", "content": [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": url}}]}])
        except openai.BadRequestError as e:
            assert (e.code, e.param) == (code, "messages[0].content[1].image_url.url"), e
            return
        raise AssertionError(f"not refused: {url[:60]}")

    good = data_uri(images / "wide.png")
    refused("https://example.com/a.png", "invalid_image_url")
    refused(good[:-1], "invalid_base64_image")
    refused("data:image/png;base64,bm8gcGljdHVyZQ==", "invalid_image_format")
    refused(good[: len("data:image/png;base64,") + 96], "image_parse_error")


def main(command: str, data: str) -> None:
    images = Path(data) / "images"
    for name in ("qwen3_vl", "gemma3"):
        model = Path(data) / name
        for chunk in ("512", "16"):  # the second cuts prompts; images of Gemma 3 are not cut
            with serving(command, str(model), *FORMAT, "--chunk", chunk) as server:
                client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)
                answers(command, model, images, server, client)
                refusals(images, client)
    print("openai", openai.__version__, "shows images, and the answers are those of cke run")


if __name__ == "__main__":
    main(*sys.argv[1:])
