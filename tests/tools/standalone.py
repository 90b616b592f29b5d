#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The folder that `cke build MODEL --standalone DIR` makes: it answers as the command does in a Debian root that has
libc6 and nothing else, and refuses what it cannot use by name. standalone.py CKE MODEL"""
import os
import platform
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from empty_root import GLIBC, libraries_of, run_in_empty_root

wrong: list[str] = []


def check(what: str, right: bool, found: object = "") -> None:
    if not right:
        wrong.append(f"{what}: {found}")


def said(*command: object, **options) -> subprocess.CompletedProcess:
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=120, **options)


def parts_of(program: bytes) -> tuple[int, bytes, list[str]]:
    """Where the unit's object begins, the object, and the features that its code may use."""
    assert program[-40:-32] == b"CKE-UNIT"
    object_bytes, text_bytes, features_bytes = struct.unpack("<3Q", program[-32:-8])
    begin = len(program) - 40 - features_bytes - text_bytes - object_bytes
    return begin, program[begin:begin + object_bytes], program[-40 - features_bytes:-40].decode().split()


def refused(what: str, done: subprocess.CompletedProcess, *words: str) -> None:
    line = done.stderr
    check(what, done.returncode == 1 and line.count("\n") == 1 and all(w in line for w in words), (done.returncode, line))


def main(cke: str, model: str) -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "made"
        made = said(cke, "build", model, "--standalone", folder)
        if made.returncode:
            raise SystemExit(made.stderr)
        stem = Path(model).name
        program, bundle = folder / stem, folder / f"{stem}.cke"
        check("files", {p.name for p in folder.iterdir()} == {stem, f"{stem}.cke", "README"}, list(folder.iterdir()))
        check("links", set(libraries_of(program)) <= GLIBC, libraries_of(program))
        refused("a folder that is there", said(cke, "build", model, "--standalone", folder), str(folder), "free")
        check("nothing else", [p.name for p in Path(name).iterdir()] == ["made"], list(Path(name).iterdir()))

        words = ["-p", "Once upon a time", "-n", "24", "--temp", "0"]
        wanted = said(cke, "run", model, *words)
        found = run_in_empty_root(folder, [stem, "run", *words])
        if found is None:
            print("an empty root: not asked, because this machine refuses `unshare -r`")
            found = said(program, "run", *words, env={})
        check("run", found.stdout == wanted.stdout and found.returncode == 0, (found, wanted.stdout))
        talk = "What can you tell me about the sea?\n"
        answer = run_in_empty_root(folder, [stem, "chat", "--no-think"], input=talk) or said(program, "chat", "--no-think", input=talk)
        check("chat", answer.stdout == said(cke, "chat", model, "--no-think", input=talk).stdout, answer)
        check("ids", said(program, "tokenize", "-p", "the sea", env={}).stdout == said(cke, "tokenize", model, "-p", "the sea").stdout)

        emulator = shutil.which("qemu-x86_64")
        lesser = emulator and said(emulator, "-cpu", "Nehalem", program, "--version")
        if lesser and said(emulator, "-cpu", "Nehalem", "/bin/true").returncode == 0:
            refused("another cpu", lesser, "compiled for a cpu with")
        else:
            print("a lesser cpu: not asked, because there is no qemu-x86_64")

        whole = program.read_bytes()
        begin, unit, features = parts_of(whole)
        if platform.machine() == "x86_64":
            check("features", {"sse3", "popcnt", "cx16"} <= set(features), features)
            # The same unit by a compiler that says that its code may use what no cpu of today has.
            compiler, copy, other = Path(name) / "c++", Path(name) / "unit.so", Path(name) / "other"
            copy.write_bytes(unit)
            compiler.write_text(f"""#!/bin/sh
case " $* " in
  *' --version '*) echo other 1 ;;
  *' -dM '*) printf '#define __SSE3__ 1\\n#define __FMA4__ 1\\n' ;;
  *) while [ "$2" != -o ]; do shift; done; cp '{copy}' "$3" ;;
esac
""")
            compiler.chmod(0o755)
            env = {k: v for k, v in os.environ.items() if k != "CKE_MARCH"} | {"CKE_CXX": str(compiler), "CKE_CACHE": f"{name}/cache"}
            made = said(cke, "build", model, "--standalone", other, env=env)
            check("another compiler", made.returncode == 0 and parts_of((other / stem).read_bytes())[1:] == (unit, ["sse3", "fma4"]), made)
            refused("a cpu that lacks what the unit needs", said(other / stem, "run", *words), f"{other / stem}: unit: ", "with fma4, ")
            check("without the unit", said(other / stem, "tokenize", "-p", "the sea").returncode == 0)

        damaged = bytearray(whole)
        damaged[begin + len(unit) // 2] ^= 1
        program.unlink()
        program.write_bytes(damaged)
        program.chmod(0o755)
        refused("a damaged unit", said(program, "run", *words), str(program), "unit")
        program.write_bytes(whole)
        bundle.rename(folder / "away")
        refused("no bundle", said(program, "run", *words), str(bundle))
    print("\n".join(wrong) or f"{stem}: {len(whole) / 1e6:.1f} MB")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
