#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_sources.py ROOT: what a compiler takes and a GPU does not, or not always: calls on the legacy stream, which are
not ordered with the device's own; products of a warp that a compiler may move into a branch; shared memory that may be
anywhere."""
import re
import sys
from pathlib import Path

LEGACY = re.compile(r"\bcuda(Memset|Memcpy|Memset2D|Memcpy2D|MemcpyToSymbol|MemcpyFromSymbol)\(")
LAUNCH = re.compile(r"<<<(.*?)>>>", re.S)
SHARED = re.compile(r"extern __shared__(?! __align__\(128\))[^;]*;")
MMA = re.compile(r"\basm( volatile)?\(\s*\"mma\.sync")


def line_of(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def wrong_in(name: str, text: str) -> list[str]:
    text = re.sub(r"//[^\n]*", "", text)
    wrong = [(m.start(), f"{m[0]}...): it is on the legacy stream, and not ordered with the device's; use the Async one on "
                         "its stream") for m in LEGACY.finditer(text)]
    wrong += [(m.start(), f"<<<{m[1]}>>>: a launch without a stream") for m in LAUNCH.finditer(text)
              if m[1].count(",") < 3]
    wrong += [(m.start(), f"{m[0]} without __align__(128): copies want 16 bytes, and rings begin at lines of 128") for m in SHARED.finditer(text)]
    wrong += [(m.start(), "an mma that is not volatile: all lanes must take part in it") for m in MMA.finditer(text)
              if not m[1]]
    return [f"{name}:{line_of(text, at)}: {what}" for at, what in sorted(wrong)]


def main(root: str) -> int:
    files = sorted(f for folder in ("include/cke/cuda", "tests/device") for f in (Path(root) / folder).rglob("*")
                   if f.suffix in (".cuh", ".cu", ".hpp", ".cpp"))
    if len(files) < 30:
        raise SystemExit(f"{root}: only {len(files)} files of device code")
    wrong = [w for f in files for w in wrong_in(str(f.relative_to(root)), f.read_text())]
    print("\n".join(wrong) or f"{len(files)} files")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
