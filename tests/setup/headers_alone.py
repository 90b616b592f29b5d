#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""headers_alone.py INCLUDE XSIMD COMPILER: every header compiles without another one before it.

Most of the time would go to what all of them include. But what a header includes at its top, itself or through others,
it would read before its own first declaration anyway. So one compilation reads a row of headers, each of which includes
the one before it; and the row starts from a precompiled header, the largest that its first one includes (1.1 GB while
this runs)."""
import os
import pathlib
import posixpath
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

FLAGS = """-std=c++20 -march=native -ffp-contract=off -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow
-Winvalid-pch -Werror""".split()
PRECOMPILED = """core/types core/error core/isa io/json_node runtime/workspace text/tokenizer/vocabulary text/jinja/value
models/family model serve/api_error serve/request""".split()


def included_at_top(name: str, text: str) -> set[str]:
    top = re.split(r"^namespace ", text, maxsplit=1, flags=re.MULTILINE)[0]
    top = re.sub(r"^#if.*?^#endif", "", top, flags=re.MULTILINE | re.DOTALL)
    others = re.findall(r'^#include "(.+)"', top, re.MULTILINE)
    return {posixpath.normpath(posixpath.join(posixpath.dirname(name), other)) for other in others}


def rows(names: list[str], before: dict[str, set[str]]) -> list[list[str]]:
    """As few as can be: a matching of each header with the next of its row (Kuhn's algorithm)."""
    previous: dict[str, str] = {}

    def find_next(name: str, tried: set[str]) -> bool:
        for other in names:
            if name in before[other] and other not in tried:
                tried.add(other)
                if other not in previous or find_next(previous[other], tried):
                    previous[other] = name
                    return True
        return False

    for name in names:
        find_next(name, set())
    following = {name: other for other, name in previous.items()}
    found = []
    for name in names:
        if name not in previous:
            found.append([name])
            while found[-1][-1] in following:
                found[-1].append(following[found[-1][-1]])
    return found


def main(include: str, xsimd: str, compiler: str) -> int:
    headers = {p.relative_to(include).as_posix(): p.read_text() for p in pathlib.Path(include).rglob("*.hpp")}
    nearest = {name: included_at_top(name, text) & headers.keys() for name, text in headers.items()}

    def all_before(name: str) -> set[str]:
        found, new = set(), nearest[name]
        while new:
            found |= new
            new = set().union(*(nearest[n] for n in new)) - found
        return found

    before = {name: all_before(name) for name in headers}
    precompiled = [f"cke/{name}.hpp" for name in PRECOMPILED]

    with tempfile.TemporaryDirectory(dir=".") as folder, ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        def stand_in(name: str) -> str:
            return f"{folder}/{name.replace('/', '_')}"

        def compile_row(row: list[str], *options: str) -> str:
            command = [compiler, *FLAGS, "-I", include, "-isystem", xsimd, *options]
            text = "".join(f"#include <{name}>\n" for name in row)
            run = subprocess.run(command, input=text, capture_output=True, text=True)
            return "" if run.returncode == 0 else f"{', '.join(row)}:\n{run.stderr}"

        def precompile(name: str) -> str:
            pathlib.Path(stand_in(name)).write_text(f"#include <{name}>\n")
            return compile_row([name], "-x", "c++-header", stand_in(name))

        def start_of(name: str) -> str | None:
            return next((p for p in precompiled if p in before[name]), None)

        def check(row: list[str]) -> str:
            start = start_of(row[0])
            return compile_row(row, *(["-include", stand_in(start)] if start else []), "-fsyntax-only", "-x", "c++", "-")

        wrong = [message for message in pool.map(precompile, precompiled) if message]
        if not wrong:
            precompiled.sort(key=lambda name: -os.path.getsize(stand_in(name) + ".gch"))
            by_start: dict[str | None, list[str]] = {}
            for name in sorted(headers.keys() - set(precompiled)):
                by_start.setdefault(start_of(name), []).append(name)
            all_rows = [row for names in by_start.values() for row in rows(names, before)]
            wrong = [message for message in pool.map(check, all_rows) if message]
    print("\n".join(wrong) or f"{len(headers)} headers compile alone")
    return 1 if wrong or not headers else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
