# SPDX-License-Identifier: MIT
"""kills.py: what is left of `cke train` where it is killed, again and again, while it writes.

    python3 tests/train/kills.py [--kills 100] [--cke build/release/cke] [--model assets/tiny]

A run saves after every step and is killed (SIGKILL) at a random moment; the next goes on from the newest directory that
it left. Every directory must be complete: each tensor of the weights and of the optimizer is there to the last byte.
In the end the run that was killed so often must have the bits of one that was not.
"""

import argparse
import itertools
import json
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STEPS = 40


def check(folder):
    """Reads what a complete directory has; raises where something is missing."""
    json.loads((folder / "training.json").read_text())
    json.loads((folder / "config.json").read_text())
    for name in ("model.safetensors", "optimizer.safetensors"):
        data = (folder / name).read_bytes()
        (length,) = struct.unpack("<Q", data[:8])
        tensors = json.loads(data[8 : 8 + length])
        end = max(t["data_offsets"][1] for key, t in tensors.items() if key != "__metadata__")
        assert len(data) == 8 + length + end, f"{folder / name}: {len(data)} bytes of {8 + length + end}"


def words(args, model, out, resume, steps=STEPS):
    return [args.cke, "train", model, "--data", args.text, "--context", "32", "--sequences", "2", "--steps", str(steps),
            "--lr", "1e-3", "--save-every", "1", "-o", out] + (["--resume"] if resume else [])


def steps_of(folder):
    return json.loads((folder / "training.json").read_text())["steps"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--cke", default="build/release/cke")
    parser.add_argument("--model", default="assets/tiny")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    chance = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        args.text = place / "text"
        args.text.write_text(Path("README.md").read_text()[:4000])
        whole = place / "whole"
        subprocess.run(words(args, args.model, place / "compiled", False, 1), check=True, stdout=subprocess.DEVNULL)
        start = time.monotonic()
        subprocess.run(words(args, args.model, whole, False), check=True, stdout=subprocess.DEVNULL)
        seconds = time.monotonic() - start
        newest, rounds, kept, kills = None, 0, 0, 0
        for number in itertools.count():
            if kills == args.kills:
                break
            out = place / f"run{number}"
            run = subprocess.Popen(words(args, newest or args.model, out, newest is not None), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
            try:
                run.wait(chance.uniform(0, seconds / 2))
            except subprocess.TimeoutExpired:
                run.send_signal(signal.SIGKILL)
                run.wait()
                kills += 1
            assert run.returncode in (0, -signal.SIGKILL), run.stderr.read().decode()
            complete = [p for p in place.glob(f"run{number}*") if ".partial-" not in p.name]
            for folder in complete:
                check(folder)
            kept += len(complete)
            for folder in place.glob("*.partial-*"):
                shutil.rmtree(folder)
            if complete:
                last = max(complete, key=steps_of)
                for old in place.glob("run*"):
                    if old != last:
                        shutil.rmtree(old)
                newest = last
                if steps_of(last) == STEPS:
                    for file in ("model.safetensors", "optimizer.safetensors"):
                        assert (last / file).read_bytes() == (whole / file).read_bytes(), f"{file} has other bits"
                    newest, rounds = None, rounds + 1
        print(f"{kills} kills: {kept} directories, all complete; {rounds} runs came to their end, with the bits of "
              f"one that was not killed")
        return 0 if rounds > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
