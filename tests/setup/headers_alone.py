#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""headers_alone.py INCLUDE XSIMD COMPILER: every header compiles without another one before it."""
import os
import pathlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

WARNINGS = "-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror".split()


def main(include: str, xsimd: str, compiler: str) -> int:
    # No code is made: that would take twice as long, and tests make all of it.
    command = [compiler, "-std=c++20", "-march=native", "-ffp-contract=off", "-fsyntax-only", *WARNINGS, "-I", include, "-isystem", xsimd, "-x", "c++", "-"]
    headers = sorted(p.relative_to(include).as_posix() for p in pathlib.Path(include).rglob("*.hpp"))

    def check(header: str) -> str:
        run = subprocess.run(command, input=f"#include <{header}>\n", capture_output=True, text=True)
        return "" if run.returncode == 0 else f"{header}:\n{run.stderr}"

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        wrong = [message for message in pool.map(check, headers) if message]
    print("\n".join(wrong) or f"{len(headers)} headers compile alone")
    return 1 if wrong or not headers else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
