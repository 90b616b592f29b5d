#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""headers_alone.py INCLUDE XSIMD COMPILER: every header compiles without another one before it.

Most of the time would go to what all of them include. So some headers are precompiled (1.1 GB while this runs), and a
header starts from the largest of those that it includes at its top, itself or through others: it would read that before
its own first declaration anyway."""
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

        def compile_alone(name: str, *options: str) -> str:
            command = [compiler, *FLAGS, "-I", include, "-isystem", xsimd, *options]
            run = subprocess.run(command, input=f"#include <{name}>\n", capture_output=True, text=True)
            return "" if run.returncode == 0 else f"{name}:\n{run.stderr}"

        def precompile(name: str) -> str:
            pathlib.Path(stand_in(name)).write_text(f"#include <{name}>\n")
            return compile_alone(name, "-x", "c++-header", stand_in(name))

        def check(name: str) -> str:
            start = next((p for p in precompiled if p in before[name]), None)
            return compile_alone(name, *(["-include", stand_in(start)] if start else []), "-fsyntax-only", "-x", "c++", "-")

        wrong = [message for message in pool.map(precompile, precompiled) if message]
        if not wrong:
            precompiled.sort(key=lambda name: -os.path.getsize(stand_in(name) + ".gch"))
            wrong = [message for message in pool.map(check, sorted(headers.keys() - set(precompiled))) if message]
    print("\n".join(wrong) or f"{len(headers)} headers compile alone")
    return 1 if wrong or not headers else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
