# SPDX-License-Identifier: MIT
"""bundle.py: how a bundle starts beside the model that it was packed from, in turns, with all files in the page cache.

    python3 benchmarks/bundle.py MODEL [--rounds 11] [--threads 2] [--cke build/release/cke] [-o FILE.json]

Packs MODEL, then runs both in turns: seconds from the start of the process to the first byte of the answer, which is
one token after three. Then the private memory of a server after one answer, and tokens per second of both in turns.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path


def first_token(words):
    start = time.perf_counter()
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
        run.stdout.read(1)
        seconds = time.perf_counter() - start
        run.stdout.read()
    assert run.returncode == 0, words
    return seconds


def stages(words):
    """What --verbose says of each stage, in seconds."""
    said = subprocess.run(words + ["--verbose"], check=True, capture_output=True, text=True).stderr
    return {name.strip(): float(s) for name, s in re.findall(r"cke: (.{11}) +([\d.]+) s", said)}


def memory_of_server(args, model):
    """Bytes of /proc/PID/smaps_rollup after an answer."""
    words = [args.cke, "serve", model, "--port", "0", "-t", str(args.threads), "-c", "4096"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        try:
            address = None
            for line in server.stdout:
                if found := re.search(r"http://[\d.]+:\d+", line):
                    address = found[0]
                    break
            body = json.dumps({"prompt": [1, 2, 3], "max_tokens": 8, "temperature": 0}).encode()
            request = urllib.request.Request(address + "/v1/completions", body, {"Content-Type": "application/json"})
            urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request).read()
            text = Path(f"/proc/{server.pid}/smaps_rollup").read_text()
        finally:
            server.terminate()
        server.stdout.read()
    return {key: int(kb) * 1024 for key, kb in re.findall(r"(\w+): +(\d+) kB", text)}


def speed(args, model):
    """Tokens per second of a prompt and of an answer."""
    words = [args.cke, "bench", model, "-t", str(args.threads), "-p", "128", "-n", "32", "-r", "3", "-o", "json"]
    return [t["avg_ts"] for t in json.loads(subprocess.run(words, check=True, capture_output=True).stdout)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--cke", default="build/release/cke")
    parser.add_argument("-o", "--output")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/tmp")) as name:
        bundle = str(Path(name) / "model.cke")
        start = time.perf_counter()
        subprocess.run([args.cke, "pack", args.model, "-o", bundle], check=True)
        result = {"model": args.model, "threads": args.threads, "rounds": args.rounds,
                  "pack_s": time.perf_counter() - start}
        both = {"model": args.model, "bundle": bundle}
        words = {name: [args.cke, "run", path, "--tokens", "1,2,3", "-n", "1", "--ids", "-t", str(args.threads)]
                 for name, path in both.items()}
        times = {name: [] for name in both}
        for name in both:
            first_token(words[name])
        for _ in range(args.rounds):
            for name in both:
                times[name].append(first_token(words[name]))
        result["first_token_s"] = {name: {"median": statistics.median(t), "least": min(t), "most": max(t)}
                                   for name, t in times.items()}
        ratios = [b / m for b, m in zip(times["bundle"], times["model"])]
        result["bundle_to_model"] = statistics.median(ratios)
        result["stages_s"] = {name: stages(w) for name, w in words.items()}
        result["memory"] = {name: memory_of_server(args, path) for name, path in both.items()}
        facts = json.loads(subprocess.run([args.cke, "inspect", bundle, "--plan", "--json"], check=True,
                                          capture_output=True).stdout)
        result["weights"] = facts["bundle"]["bytes"]
        speeds = {name: [] for name in both}
        for _ in range(3):
            for name, path in both.items():
                speeds[name].append(speed(args, path))
        result["tokens_per_s"] = {name: [statistics.median(s) for s in zip(*rows)] for name, rows in speeds.items()}
    for name in both:
        t, m = result["first_token_s"][name], result["memory"][name]
        prompt, answer = result["tokens_per_s"][name]
        print(f"{name:7} first token {t['median']:.3f} s (least {t['least']:.3f}, most {t['most']:.3f}), private memory "
              f"{m['Anonymous'] / 1e6:.1f} MB, resident {m['Rss'] / 1e6:.1f} MB, prompt {prompt:.1f} and answer "
              f"{answer:.1f} tokens/s")
    print(f"bundle / model, median of {args.rounds} pairs: {result['bundle_to_model']:.3f}; packed in "
          f"{result['pack_s']:.1f} s, {result['weights'] / 1e6:.1f} MB of weights")
    if args.output:
        Path(args.output).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
