# SPDX-License-Identifier: MIT
"""embed.py CKE CXX SOURCE XSIMD: what `cke build --embed` writes is a program that answers as the command does."""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

CKE, CXX, SOURCE, XSIMD = sys.argv[1:]
TINY, CONTEXT, PROMPT = f"{SOURCE}/assets/tiny", 64, "Once upon a time"


def run(*command: str | Path, status: int = 0, **more) -> subprocess.CompletedProcess:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **more)
    if done.returncode != status:
        sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}, not {status}\n{done.stdout}{done.stderr}")
    return done


def check(what: str, found, expected) -> None:
    if found != expected:
        sys.exit(f"{what}: {found!r}, where {expected!r} was expected")


def build(folder: Path, output: str, linked: str, isa: str, *flags: str) -> tuple[Path, str]:
    said = run(CKE, "build", TINY, "--embed", "-o", folder / output, "-c", str(CONTEXT), "--format", "q8_0",
               "--isa", isa).stdout
    run(CXX, "-std=c++20", "-O2", *flags, "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", f"-I{SOURCE}/include",
        "-isystem", XSIMD, f"-I{folder}", f"-Wa,-I{folder}", f"{SOURCE}/examples/embedded.cpp", folder / linked, "-o",
        folder / "embedded")
    return folder / "embedded", said


def check_object(folder: Path, ids: list[str], wanted: str) -> None:
    """NAME.o has the bytes; nothing but it and the header is left, whatever was there before."""
    (folder / "tiny.o").write_text("an older file")
    program, said = build(folder, "tiny.o", "tiny.o", "scalar")
    check("files of an object", sorted(file.name for file in folder.iterdir()), ["embedded", "tiny.hpp", "tiny.o"])
    check("the file that is named", said.split(":")[0], str(folder / "tiny.hpp"))
    check("whether the header names the object", "in tiny.o." in (folder / "tiny.hpp").read_text(), True)
    check("answer of an object", run(program, *ids, cwd="/", env={}).stdout, wanted)
    if "Free Software Foundation" in run(CXX, "--version").stdout:  # g++ looks for its assembler in PATH
        found = run(CKE, "build", TINY, "--embed", "-o", folder / "other.o", "-c", str(CONTEXT), "--format", "q8_0",
                    status=1, env=os.environ | {"PATH": "/nowhere"}).stderr
        check("a machine without an assembler", re.sub("exit status [0-9]+; error: .*\n", "", found),
              f"cke: error: compiler {CXX}: expected an object of other.S, found ")
    check("files after it", sorted(file.name for file in folder.iterdir()), ["embedded", "tiny.hpp", "tiny.o"])


def check_refusals(folder: Path) -> None:
    for output in ("model.a", "two-words.hpp", "1.hpp", "1.o"):
        found = run(CKE, "build", TINY, "--embed", "-o", folder / output, status=2).stderr
        check(output, found.strip(),
              f"cke: error: -o: expected NAME.hpp or NAME.o, of letters, digits and _, found {folder / output}")
    sight = f"{SOURCE}/assets/sight"
    found = run(CKE, "build", sight, "--embed", "-o", folder / "sight.hpp", status=1).stderr
    check("a model that sees images", found.strip(),
          f"cke: error: {sight}: --embed: expected a model that reads text alone, found one that sees images")


def main() -> None:
    ids = [str(id_) for id_ in json.loads(run(CKE, "tokenize", TINY, "-p", PROMPT).stdout)]
    wanted = run(CKE, "run", TINY, "-p", PROMPT, "--format", "q8_0", "--temp", "0", "-n", str(CONTEXT - len(ids))).stdout
    answers = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for isa, flags in (("scalar", []), ("native", ["-march=native"])):
            program, said = build(folder, "tiny.hpp", "tiny.S", isa, *flags)
            constant = int(re.search(r"image_bytes == (\d+)", (folder / "tiny.hpp").read_text())[1])
            check("bytes of the file", int(re.search(r"(\d+) bytes that stay", said)[1]),
                  (folder / "tiny.bin").stat().st_size)
            check("whether the image has the size of the weights", 1_250_000 < constant < 1_300_000, True)
            (folder / "tiny.bin").unlink()  # it is in the program
            answer = answers[isa] = run(program, *ids, cwd="/", env={}).stdout
            if not answer.strip() or answer.rstrip("\n") not in wanted:
                sys.exit(f"{isa}: {answer!r}, where the command writes {wanted!r}")
        check("an id beyond the vocabulary", run(program, "9999", status=1).stderr,
              "embedded: token id, at most: expected 1535, found 9999\n")
        check("no id", run(program, status=1).stderr, "embedded: ids, at least: expected 1, found 0\n")
        check_refusals(folder)
    with tempfile.TemporaryDirectory() as name:
        check_object(Path(name), ids, answers["scalar"])


if __name__ == "__main__":
    main()
