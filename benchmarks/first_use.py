# SPDX-License-Identifier: MIT
"""first_use.py CKE DIRECTORY... [--against CKE] [--turns N]: what it takes to run a checkpoint for the first time, compiled.

Each checkpoint with an empty cache: CPU seconds (of the command and its compiler) until the logits of two ids are written, the
seconds of the clock, and those of a second run. With --against the two commands take turns; the ratio is the median of pairs."""
import argparse
import os
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path


def run(command: list[str], cache: str) -> tuple[float, float]:
    """CPU seconds and seconds of the clock."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, check=True, capture_output=True, env=os.environ | {"CKE_CACHE": f"{cache}/cke"})
    clock, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, clock


def first_and_second(cke: str, directory: str) -> tuple[float, float, float]:
    with tempfile.TemporaryDirectory() as folder:
        command = [cke, "logits", directory, "--tokens", "5,6", "-o", f"{folder}/logits.npy"]
        return *run(command, folder), run(command, folder)[1]


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("cke")
    options.add_argument("directory", nargs="+")
    options.add_argument("--against", help="another command, to compare with")
    options.add_argument("--turns", type=int, default=1)
    o = options.parse_args()
    print("| checkpoint | first use, CPU s | clock, s | again, s |" + (" against, CPU s | ratio |" if o.against else ""))
    print("|---|---|---|---|" + ("---|---|" if o.against else ""))
    for directory in o.directory:
        ours, others = [], []
        for _ in range(o.turns):
            if o.against:
                others.append(first_and_second(o.against, directory))
            ours.append(first_and_second(o.cke, directory))
        cpu, clock, again = (statistics.median(column) for column in zip(*ours))
        row = f"| {Path(directory).name} | {cpu:.2f} | {clock:.1f} | {again:.2f} |"
        if o.against:
            ratio = statistics.median(a[0] / b[0] for a, b in zip(ours, others))
            row += f" {statistics.median(column[0] for column in others):.2f} | {ratio:.3f} |"
        print(row, flush=True)


if __name__ == "__main__":
    main()
