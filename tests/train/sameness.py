# SPDX-License-Identifier: MIT
"""sameness.py: 20 steps of `cke train` end in the same bytes for 1 to 4 threads, for 1, 2 and 4 sequences in a pass, and
where the run was stopped and resumed after any step. Prints the SHA-256; exits 1 where one differs.

    python3 tests/train/sameness.py [--cke build/release/cke] [--model assets/tiny] [--lora-rank 4]
                                   [--precision bf16]
"""

import argparse
import hashlib
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STEPS, LENGTH = 20, 24


def write_batches(path):
    """Batches of four sequences of random ids, of different lengths."""
    draw = random.Random(1)
    rows = []
    for _ in range(STEPS):
        ids = [[draw.randrange(1500) for _ in range(LENGTH - draw.randrange(9))] for _ in range(4)]
        rows.append(f'{{"ids": {ids}, "labels": {ids}}}')
    path.write_text('{"batches": [' + ", ".join(rows) + "]}")


class Runs:
    def __init__(self, args, folder):
        self.args, self.folder, self.batches = args, folder, folder / "batches.json"
        write_batches(self.batches)

    def train(self, name, *more, model=None):
        line = [self.args.cke, "train", model or self.args.model, "--batches", self.batches, "--steps", STEPS,
                "--lr", "1e-3", "--warmup", "3", "--precision", self.args.precision, "-o", self.folder / name, *more]
        done = subprocess.run([str(word) for word in line], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(map(str, line))}\n{done.stderr}")
        return self.sha256(name)

    def sha256(self, name):
        all_bytes = hashlib.sha256()
        for file in sorted((self.folder / name).glob("*.safetensors")):
            all_bytes.update(file.read_bytes())
        return all_bytes.hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cke", type=Path, default=ROOT / "build/release/cke")
    parser.add_argument("--model", type=Path, default=ROOT / "assets/tiny")
    parser.add_argument("--lora-rank", type=int, default=0, help="train additions of this rank; 0: all weights")
    parser.add_argument("--precision", default="f32")
    args = parser.parse_args()
    args.cke = args.cke.resolve()
    begin = ["--lora-rank", args.lora_rank] if args.lora_rank else []
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(args, Path(folder))
        wanted = runs.train("whole", *begin, "--save-every", 1)
        found = {}
        for threads in (1, 2, 3, 4):
            for sequences in (1, 2, 4):
                how = f"{threads} threads, {sequences} sequences in a pass"
                found[how] = runs.train("again", *begin, "-t", threads, "--rows", sequences * LENGTH)
                shutil.rmtree(runs.folder / "again")
        for step in range(1, STEPS):
            saved = runs.folder / f"whole.step-{step}"
            resumed = ["--lora", saved] if args.lora_rank else []
            found[f"resumed after step {step}"] = runs.train("again", "--resume", *resumed,
                                                             model=args.model if resumed else saved)
            shutil.rmtree(runs.folder / "again")
    different = [how for how, sha256 in found.items() if sha256 != wanted]
    print(f"{wanted}: {1 + len(found) - len(different)} of {1 + len(found)} runs")
    for how in different:
        print(f"{found[how]}: {how}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
