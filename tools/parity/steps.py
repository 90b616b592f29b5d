# SPDX-License-Identifier: MIT
"""steps.py: every value of cke's steps that transformers' modules read or write, family by family, at 1e-4.

    python tools/parity/steps.py [DIR...] [--tolerance 1e-4] [--dtype float64] [--cke build/release/cke]

A DIR is a Hugging Face directory with ids.json; without one, those of tests/data/families. `cke bisect` compares each
with what hooks.py catches. Prints one Markdown row per directory and exits 1 where a value is wrong.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

import hooks
import measure


def largest(table):
    """The largest difference in what `cke bisect` printed."""
    return max((float(row.split()[-4]) for row in table.splitlines() if re.match(r"\d+ .* \d+$", row)), default=0.0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directories", nargs="*", type=Path)
    parser.add_argument("--tolerance", default="1e-4")
    parser.add_argument("--tokens", help="comma-separated ids; default: the ids.json of each model")
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32", help="of transformers")
    parser.add_argument("--cke", type=Path, default=measure.ROOT / "build/release/cke")
    args = parser.parse_args()
    torch.set_num_threads(1)
    families = measure.ROOT / "tests/data/families"
    print("| model | values | compared | largest difference | first wrong |\n|---|---:|---:|---:|---|")
    wrong = 0
    for directory in args.directories or sorted(d for d in families.iterdir() if (d / "ids.json").exists()):
        with tempfile.TemporaryDirectory() as folder:
            ids = measure.prompt(args, directory / "ids.json")
            there, left = hooks.reference(directory, ids, Path(folder) / "reference", getattr(torch, args.dtype),
                                          args.cke.resolve())
            done = subprocess.run([args.cke.resolve(), "bisect", directory, "--format", "f32", "--reference",
                                   Path(folder) / "reference", "--tolerance", args.tolerance],
                                  capture_output=True, text=True)
        first = re.search(r"first wrong: (.*)", done.stdout)
        good = done.returncode == 0
        print(f"| {directory.name} | {there + left} | {there} | {largest(done.stdout):.1e} | "
              f"{'' if good else first.group(1) if first else done.stderr.strip()} |", flush=True)
        wrong += not good
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
