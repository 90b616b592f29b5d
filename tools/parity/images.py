#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""images.py decode|resize|damage N [--seed S]: random images through cke and through Pillow, or damaged, through cke.

  decode   N files of all kinds: the same RGB bytes as Pillow and transformers make of them
  resize   N images, sizes and filters: the same bytes as Pillow's resize
  damage   N damaged files, under ASan and UBSan: each gives an error or an image

Needs numpy and Pillow 13, and the libraries of <cke/image/decode.hpp>. Compiles tools/parity/read_image.cpp.
"""
import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from image_files import KINDS, as_transformers_reads, picture, saved

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ["-lpng", "-ljpeg", "-lwebpdemux", "-lwebp", "-lgif"]
FILTERS = {1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}


class Reader:
    """read_image as a process: one question at a time."""

    def __init__(self, folder: Path, sanitized: bool):
        program = folder / "read_image"
        checks = ["-O1", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
        how = checks if sanitized else ["-O2", "-march=native"]
        subprocess.run(["g++", "-std=c++20", "-ffp-contract=off", *how, "-I", ROOT / "include",
                        ROOT / "tools/parity/read_image.cpp", "-o", program, *LIBRARIES], check=True)
        self.command = [program, "--pixels", "4000000"] if sanitized else [program]
        self.process = None

    def ask(self, question: str) -> tuple[int, int, bytes] | str | None:
        """Width, height and RGB; or the error's text; or None if the process died."""
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            self.process.stdin.write(question.encode() + b"\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline().decode("utf-8", "replace")
        except BrokenPipeError:
            line = ""
        if not line.startswith("ok "):
            return line.removeprefix("error: ").rstrip("\n") or None
        width, height = map(int, line.split()[1:])
        return width, height, self.process.stdout.read(width * height * 3)


def shown(kind: str, n: int, draw: random.Random, file: bytes, folder: Path, why: str) -> None:
    kept = Path(tempfile.gettempdir()) / f"cke-image-{n}.{kind}"
    kept.write_bytes(file)
    print(f"{kept}: {why}")


def differs(said, wanted: Image.Image) -> str | None:
    if said is None or isinstance(said, str):
        return f"an error: {said}"
    if said[:2] != wanted.size:
        return f"{said[0]} x {said[1]}, not {wanted.size[0]} x {wanted.size[1]}"
    if said[2] == wanted.tobytes():
        return None
    apart = [abs(a - b) for a, b in zip(said[2], wanted.tobytes())]
    first = next(i for i, d in enumerate(apart) if d)
    return f"{sum(map(bool, apart))} of {len(apart)} bytes differ, by at most {max(apart)}, from byte {first} on"


def decode(n: int, draw: random.Random, folder: Path) -> int:
    reader, wrong, seen = Reader(folder, False), 0, dict.fromkeys(KINDS, 0)
    for i in range(n):
        kind = draw.choice(list(KINDS))
        file = KINDS[kind](draw, 60)
        seen[kind] += 1
        path = folder / f"image.{kind}"
        path.write_bytes(file)
        if why := differs(reader.ask(str(path)), as_transformers_reads(file)):
            shown(kind, i, draw, file, folder, why)
            wrong += 1
    print(f"{n} files ({', '.join(f'{count} {kind}' for kind, count in seen.items())}): {wrong} differ from Pillow's")
    return wrong


def resize(n: int, draw: random.Random, folder: Path) -> int:
    reader, wrong = Reader(folder, False), 0
    path = folder / "image.ppm"
    for i in range(n):
        most = draw.choice([8, 50, 300])
        image = picture(draw, most, "RGB")
        width, height, kind = draw.randint(1, most), draw.randint(1, most), draw.choice(list(FILTERS))
        path.write_bytes(saved(image, "PPM"))
        if why := differs(reader.ask(f"{path}\t{width} {height} {kind}"), image.resize((width, height), kind)):
            shown("ppm", i, draw, path.read_bytes(), folder, f"to {width} x {height}, {FILTERS[kind]}: {why}")
            wrong += 1
    print(f"{n} resizes: {wrong} differ from Pillow's")
    return wrong


def damaged(file: bytes, draw: random.Random) -> bytes:
    out = bytearray(file)
    how = draw.randrange(4)
    if how == 0:  # cut short
        return bytes(out[: draw.randrange(len(out))])
    if how == 1:  # bits flipped
        for _ in range(draw.randint(1, 8)):
            out[draw.randrange(len(out))] ^= 1 << draw.randrange(8)
    elif how == 2:  # a lying header: extreme numbers near the front
        for _ in range(draw.randint(1, 4)):
            at, size = draw.randrange(min(len(out), 64)), draw.choice([1, 2, 4])
            out[at:at + size] = draw.choice([b"\xff", b"\0", b"\x7f", b"\x80", b"\x01"]) * size
    else:  # a part moved, doubled or replaced
        at, size = draw.randrange(len(out)), draw.randint(1, 40)
        other = draw.randrange(len(out))
        out[at:at + draw.choice([0, size])] = out[other:other + size] if draw.random() < 0.7 else draw.randbytes(size)
    return bytes(out)


def damage(n: int, draw: random.Random, folder: Path) -> int:
    reader, crashed, images = Reader(folder, True), 0, 0
    for i in range(n):
        if i % 50 == 0:  # files are costly to make: each is damaged in many ways
            whole = {kind: make(draw, 40) for kind, make in KINDS.items()}
        kind = draw.choice(list(KINDS))
        file = damaged(whole[kind], draw)
        path = folder / f"image.{kind}"
        path.write_bytes(file or b"\0")
        said = reader.ask(str(path))
        images += isinstance(said, tuple)
        if said is None or (isinstance(said, str) and not said.startswith(str(path))):
            shown(kind, i, draw, file, folder, f"a crash, or an error that does not name the file: {said}")
            crashed += 1
    print(f"{n} damaged files: {images} images, {n - images - crashed} errors, {crashed} crashes")
    return crashed


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", choices=["decode", "resize", "damage"])
    options.add_argument("n", type=int)
    options.add_argument("--seed", type=int, default=0)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return 1 if globals()[asked.what](asked.n, random.Random(asked.seed), Path(folder)) else 0


if __name__ == "__main__":
    sys.exit(main())
