#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""headers_alone.py INCLUDE XSIMD COMPILER TESTS: every header compiles without another one before it."""
import os
import pathlib
import posixpath
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

WARNINGS = "-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror".split()
ALONE = {"cuda", "registry"}  # the rooms whose tests are compiled one by one (tests/CMakeLists.txt)


def is_a_list(file: pathlib.Path) -> bool:
    """Whether a header is nothing but includes of others: it is as good as they are, which odr/ compiles together."""
    lines = [line for line in file.read_text().splitlines() if line and not line.startswith("//")]
    return all(re.match(r'#(pragma once|include ")', line) for line in lines)


def first_include(file: pathlib.Path, folder: str) -> str | None:
    found = re.search(r'^\s*#\s*include\s+(["<])([^">]+)', file.read_text(), re.MULTILINE)
    return found and posixpath.normpath(posixpath.join(folder if found[1] == '"' else "", found[2]))


def main(include: str, xsimd: str, compiler: str, tests: str) -> int:
    # No code is made: that would take twice as long, and tests make all of it.
    command = [compiler, "-std=c++20", "-march=native", "-ffp-contract=off", "-fsyntax-only", *WARNINGS, "-I", include, "-isystem", xsimd, "-x", "c++", "-"]
    all_headers = {p.relative_to(include).as_posix(): p for p in pathlib.Path(include).rglob("*.hpp")}
    all_headers = {name: p for name, p in all_headers.items() if not is_a_list(p)}
    # What another header or a test includes before all else is compiled alone with that.
    sources = [p for p in pathlib.Path(tests).rglob("*.cpp") if p.parent.name in ALONE]
    shown = {first_include(p, posixpath.dirname(name)) for name, p in all_headers.items()} | {first_include(p, "") for p in sources}
    headers = sorted(all_headers.keys() - shown)

    def check(header: str) -> str:
        run = subprocess.run(command, input=f"#include <{header}>\n", capture_output=True, text=True)
        return "" if run.returncode == 0 else f"{header}:\n{run.stderr}"

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        wrong = [message for message in pool.map(check, headers) if message]
    print("\n".join(wrong) or f"{len(headers)} headers compile alone; {len(all_headers) - len(headers)} others are the first of those or of a test")
    return 1 if wrong or not headers else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
