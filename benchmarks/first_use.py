# SPDX-License-Identifier: MIT
"""first_use.py CKE DIRECTORY...: what it takes to run a checkpoint for the first time, compiled, and for the second.

Each directory of a checkpoint with an empty cache, one after the other: seconds until the logits of two ids are written, and again."""
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def seconds(command: list[str], cache: str) -> float:
    begin = time.monotonic()
    subprocess.run(command, check=True, capture_output=True, env=os.environ | {"XDG_CACHE_HOME": cache})
    return time.monotonic() - begin


def main(cke: str, *directories: str) -> None:
    print("| checkpoint | first use, s | again, s |\n|---|---|---|")
    for directory in directories:
        with tempfile.TemporaryDirectory() as folder:
            run = [cke, "logits", directory, "--tokens", "5,6", "-o", f"{folder}/logits.npy"]
            print(f"| {Path(directory).name} | {seconds(run, folder):.1f} | {seconds(run, folder):.2f} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
