#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_protocol.py MODEL WORK SPIN: verifies the model in each of its variants, and that what is broken is found."""
import subprocess
import sys
from pathlib import Path

# (what is defined, whether it must hold)
VARIANTS = [([], True), (["ABORT"], True), (["LOST"], True), (["LOST", "ABORT"], True),
            (["BREAK=1"], False), (["BREAK=2", "ABORT"], False), (["BREAK=3", "LOST"], False),
            (["BREAK=4"], False), (["BREAK=5"], False), (["BREAK=6"], False), (["BREAK=7"], False), (["BREAK=8"], False),
            (["BREAK=9", "LOST"], False),
            (["COUNTED"], True), (["COUNTED", "ABORT"], True), (["COUNTED", "LOST"], True), (["COUNTED", "LOST", "ABORT"], True),
            (["COUNTED", "BREAK=10"], False), (["COUNTED", "BREAK=2", "ABORT"], False), (["COUNTED", "BREAK=3", "LOST"], False)]


def holds(model: str, work: Path, spin: str, defines: list[str]) -> bool:
    def run(*command: str) -> str:
        done = subprocess.run(command, cwd=work, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
        return done.stdout

    # Assertions, and that every fair run ends.
    flags = [f"-D{d}" for d in defines]
    run(spin, *flags, "-a", model)
    run("cc", "-w", "-DNFAIR=3", "-o", "search", "pan.c")
    output = run("./search", "-a", "-f", "-m100000")
    if "max search depth too small" in output or "errors:" not in output:
        raise SystemExit(f"{defines}: not a whole search:\n{output}")
    return "errors: 0" in output


def main(model: str, work: str, spin: str) -> int:
    folder = Path(work)
    folder.mkdir(parents=True, exist_ok=True)
    wrong = [d for d, expected in VARIANTS if holds(model, folder, spin, d) != expected]
    for defines in wrong:
        print(f"the model with {defines}: not as expected")
    if not wrong:
        print(f"{len(VARIANTS)} variants as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
