# SPDX-License-Identifier: MIT
"""hf.py: a Hugging Face directory through transformers (float32) and through cke.

    python tools/parity/hf.py DIR... [--tokens IDS] [--new 16]

Compares all logits of the prompt and the greedy continuation. Prints one Markdown row per
directory and exits 1 where a logit differs by more than --max-abs or a greedy id at all.
"""

import argparse
import json
import sys
from pathlib import Path

import checkpoints
import measure


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--new", type=int, default=16, help="greedy ids to compare")
    measure.add_arguments(parser, max_abs=1e-4, top1=1.0)
    args = parser.parse_args()

    print(measure.HEADER)
    good = True
    for directory in args.directories:
        ids = measure.prompt(args, directory / "ids.json")
        model = checkpoints.load(directory)
        ours = measure.cke_logits(args, directory, ids)
        good &= measure.report(directory.name, ours, checkpoints.logits(model, ids), args)
        theirs, gap = checkpoints.greedy(model, ids, args.new)
        new = json.loads(measure.run_cke(args, "run", directory, ids,
                                         "-n", str(args.new), "--temp", "0", "--ids"))
        if new != theirs:
            good = False
            print(f"{directory.name}: greedy ids differ (smallest gap {gap:.1e})\n"
                  f"  cke          {new}\n  transformers {theirs}", file=sys.stderr)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
