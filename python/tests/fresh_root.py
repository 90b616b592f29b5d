# SPDX-License-Identifier: MIT
"""fresh_root.py WHEEL ROOT [--zig WHEEL]: the wheel in a Debian root (of debootstrap) that has python3 and python3-venv
and no compiler, each step with its seconds: install, import, texts of a model whose unit came ready, and a model whose
unit did not, first without any compiler, then with ziglang. Run as root."""
import argparse
import resource
import shutil
import subprocess
import time
from pathlib import Path

tree = Path(__file__).resolve().parents[2]


def processor_seconds():
    of_children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return of_children.ru_utime + of_children.ru_stime


def steps(o, root):
    work = root / "tmp/cke"
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(tree / "assets/tiny", work / "tiny")
    shutil.copytree(tree / "tests/data/models/llama_tied", work / "llama")
    wheels = {name: shutil.copy(path, work) for name, path in (("cke", o.wheel), ("zig", o.zig)) if path}
    inside = {name: "/tmp/cke/" + Path(path).name for name, path in wheels.items()}

    def step(what, *words, fails=None):
        begin, used = time.perf_counter(), processor_seconds()
        done = subprocess.run(["chroot", str(root), "/usr/bin/env", "-i", "PATH=/usr/bin:/bin", "HOME=/tmp/cke/home", *words],
                              capture_output=True, text=True)
        seconds = time.perf_counter() - begin
        said = (done.stdout + done.stderr).strip().splitlines() or [""]
        print(f"{seconds:7.2f} s, {processor_seconds() - used:6.2f} s of processors  {what}: {said[-1][:300]}", flush=True)
        assert (done.returncode != 0) == (fails is not None) and (fails or "") in done.stdout + done.stderr, "\n".join(said)
        return done.stdout

    for compiler in ("g++", "c++", "clang++", "gcc", "cc"):
        assert not any((root / folder / compiler).exists() for folder in ("bin", "usr/bin", "usr/local/bin")), compiler
    (work / "home").mkdir()
    python = "/tmp/cke/venv/bin/python"
    step("python3 -m venv", "python3", "-m", "venv", "/tmp/cke/venv")
    step("pip install cke-*.whl", python, "-m", "pip", "install", "--no-index", "--no-deps", "-q", inside["cke"])
    step("import cke", python, "-c", "import cke")
    first = "import cke; print(cke.Model('/tmp/cke/tiny').generate('Once upon a time', max_tokens=20))"
    text = step("first text", python, "-c", first)
    assert step("again", python, "-c", first) == text != "\n"
    assert step("the command", python, "-m", "cke", "run", "/tmp/cke/tiny", "-p", "Once upon a time", "-n", "20") == text
    assert not (work / "home/.cache").exists(), "a ready unit needs no cache"
    other = "import cke; print(cke.Model('/tmp/cke/llama').logits([1, 2, 3]).shape)"
    step("another model, no compiler", python, "-c", other, fails="cke[compiler]")
    if o.zig:
        step("pip install ziglang", python, "-m", "pip", "install", "--no-index", "--no-deps", "-q", inside["zig"])
        step("cke.build of it, zig's libraries too", python, "-c", "import cke; print(cke.build('/tmp/cke/llama'))")
        step("its logits", python, "-c", other)
        step("cke.build of a second one", python, "-c", "import cke; print(cke.build('/tmp/cke/tiny', format='f32'))")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("wheel")
    options.add_argument("root")
    options.add_argument("--zig", help="a wheel of ziglang; without it that step is left out")
    o = options.parse_args()
    root = Path(o.root)
    subprocess.run(["mount", "-t", "proc", "proc", str(root / "proc")], check=True)
    try:
        steps(o, root)
    finally:
        subprocess.run(["umount", str(root / "proc")], check=True)


if __name__ == "__main__":
    main()
