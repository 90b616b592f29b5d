#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""covers.py FUNCTIONS.CPP INCLUDE XSIMD COMPILER: the compiled part has every header whose functions are left to it."""
import re
import subprocess
import sys
from pathlib import Path


def main(functions: str, include: str, xsimd: str, compiler: str) -> int:
    command = [compiler, "-std=c++20", "-march=native", "-DCKE_COMPILED", "-I", include, "-isystem", xsimd, "-MM", functions]
    words = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    covered = {Path(w).resolve() for w in words if w.endswith(".hpp")}
    left = {p.resolve() for p in Path(include).rglob("*.hpp") if re.search(r"^CKE_(COLD_BEGIN|COMPILED_ONCE)$", p.read_text(), re.MULTILINE)}
    for header in sorted(left - covered):
        print(f"{header}: its functions are left to the compiled part, but {functions} does not include it")
    print(f"{len(left)} headers")
    return bool(left - covered) or len(left) < 50


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
