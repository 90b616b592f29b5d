# SPDX-License-Identifier: MIT
"""trace.py CKE MODEL: the file of `cke serve --trace` beside what the server answered and counted."""
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness import serving

SLOTS, TOKENS = 2, 24
PROMPTS = ["Once upon a time", "One day, a fox", "There was a girl", "Tom has a hat", "Anna had a dog"]
PARTS = ["queue", "prefill", "decode"]


def requests_of(events):
    """Of each request {name: (begin, end)}, and its arguments."""
    found = {}
    for e in events:
        if e["ph"] not in "be":
            continue
        spans, args = found.setdefault(e["id"], ({}, {}))
        args.update(e.get("args", {}))
        begin = spans[e["name"]][0] if e["ph"] == "e" else e["ts"]
        spans[e["name"]] = begin, e["ts"]
    return list(found.values())


def check_requests(requests, usages):
    for spans, args in requests:
        assert list(spans) == ["request", *PARTS], spans
        at = spans["request"][0]
        for name in PARTS:  # one after the other, without a gap
            begin, end = spans[name]
            assert begin == at and end >= begin, spans
            at = end
        assert spans["request"][1] == at, spans
        assert args["end"] == "length", args
    told = sorted((a["prompt_tokens"], a["cached_tokens"], a["generated_tokens"]) for _, a in requests)
    assert told == sorted((u["prompt_tokens"], u["prompt_tokens_details"]["cached_tokens"], u["completion_tokens"]) for u in usages), told
    # As many as there are slots run at a time, and so some waited.
    edges = sorted([(s["prefill"][0], 1) for s, _ in requests] + [(s["request"][1], -1) for s, _ in requests])
    running = most = 0
    for _, change in edges:
        running += change
        most = max(most, running)
    assert 1 <= most <= SLOTS, edges


def check_passes(events, metric):
    passes = [e for e in events if e["ph"] == "X"]
    assert all(a["ts"] + a["dur"] <= b["ts"] for a, b in zip(passes, passes[1:])), "passes lie on one another"
    sums = {name: sum(p["args"][name] for p in passes) for name in passes[0]["args"]}
    assert len(passes) == metric["n_decode_total"], (len(passes), metric)
    assert sums["conversations"] == metric["decode_rows_total"], (sums, metric)
    assert sums["prompt_tokens"] == metric["prompt_tokens_total"], (sums, metric)
    assert sums["guesses"] == metric["draft_tokens_total"] > 0, (sums, metric)
    return len(passes)


def settled(server):
    """The counters once the last pass is among them: an answer may come before it."""
    names = "n_decode_total", "decode_rows_total", "prompt_tokens_total", "draft_tokens_total"
    while True:
        before = {name: server.metric(name) for name in names}
        time.sleep(0.2)
        if before == {name: server.metric(name) for name in names}:
            return before


def check_refusals(command, model, folder):
    for file, found in (folder / "none/trace.json", "No such file or directory"), ("/dev/full", "No space left on device"):
        done = subprocess.run([command, "serve", model, "--port", "0", "--trace", file], capture_output=True, text=True, timeout=60)
        assert done.returncode == 1, done
        assert done.stderr == f"cke: error: {file}: expected a file that can be written, found {found}\n", done.stderr


def check_second_start(command, model, file, server):
    """The same command again, by mistake: the port is taken, and the file stays the running server's."""
    port = server.host.rsplit(":", 1)[1]
    done = subprocess.run([command, "serve", model, "--port", port, "--trace", str(file)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "an address that is free" in done.stderr, done


def main():
    command, model = sys.argv[1:]
    with tempfile.TemporaryDirectory() as above:
        folder = Path(above)
        file = folder / "trace.json"
        with serving(command, model, "--trace", str(file), "--parallel", str(SLOTS), "--draft", "2") as server:
            ask = lambda prompt: server.post("/v1/completions", {"model": "tiny", "prompt": prompt, "max_tokens": TOKENS,
                                                                 "temperature": 0, "ignore_eos": True})
            with ThreadPoolExecutor(len(PROMPTS)) as pool:
                usages = [answer["usage"] for answer in pool.map(ask, PROMPTS)]
            usages.append(ask(PROMPTS[0])["usage"])
            metric = settled(server)
            check_second_start(command, model, file, server)
            json.loads(file.read_text() + "]")  # as it is while the server runs
        events = json.loads(file.read_text())
        requests = requests_of(events)
        check_requests(requests, usages)
        passes = check_passes(events, metric)
        check_refusals(command, model, folder)
    print(f"{len(requests)} requests, {passes} passes")


if __name__ == "__main__":
    main()
