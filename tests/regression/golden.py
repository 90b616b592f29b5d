# SPDX-License-Identifier: MIT
"""golden.py CKE [DIR] [--expect FILE]: what another program wrote down of a model with its real weights.

golden.json has it of Qwen3-0.6B: the ids of a prompt, the greedy ids after it, and the first numbers of the first
token's keys in the cache, of head 0 in layer 0. DIR is a Hugging Face directory, or CKE_QWEN3_06B_DIR names it; without
either the test is left out (status 77).
"""
import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import check

LEFT_OUT = 77


def check_shape(folder, wanted):
    """Another model is no wrong model: it is the wrong directory."""
    config = json.loads((folder / "config.json").read_text())
    for name, value in wanted.items():
        check.expect(config.get(name) == value, f"{folder / 'config.json'}: {name}", value, config.get(name))


def check_golden(run, golden):
    ids = json.loads(run("tokenize", "-p", golden["prompt"]))
    check.expect(ids == golden["tokens"], f"ids of {golden['prompt']!r}", golden["tokens"], ids)
    wanted, tolerance = golden["first_keys"], golden["tolerance"]
    with tempfile.TemporaryDirectory() as above:
        dump = Path(above) / "dump"
        run("dump", "--tokens", check.joined(ids), "--ops", "rope.k", "--layers", "0", "-o", dump)
        (value,) = json.loads((dump / "index.json").read_text())["values"]
        keys = [round(x, 4) for x in check.read_npy(dump / value["file"])[0][: len(wanted)]]
    check.expect(all(abs(x - y) <= tolerance for x, y in zip(keys, wanted)), "first keys of layer 0",
                 f"{wanted} within {tolerance}", keys)
    greedy = run.greedy(ids, len(golden["greedy"]))
    check.expect(greedy == golden["greedy"], "greedy ids", golden["greedy"], greedy)
    print(f"keys {keys}, greedy ids {greedy}")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("cke")
    options.add_argument("folder", metavar="DIR", nargs="?", type=Path, default=os.environ.get("CKE_QWEN3_06B_DIR"))
    options.add_argument("--expect", metavar="FILE", type=Path, default=Path(__file__).with_name("golden.json"))
    args = options.parse_args()
    if not args.folder:
        print("left out: CKE_QWEN3_06B_DIR names no directory with the weights of Qwen3-0.6B")
        sys.exit(LEFT_OUT)
    golden, folder = json.loads(args.expect.read_text()), Path(args.folder)
    try:
        check_shape(folder, golden["shape"])
        check_golden(check.Command(args.cke, folder), golden)
    except (check.Wrong, OSError) as wrong:
        sys.exit(str(wrong))


if __name__ == "__main__":
    main()
