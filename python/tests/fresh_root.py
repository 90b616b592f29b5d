# SPDX-License-Identifier: MIT
"""fresh_root.py WHEEL ROOT [OTHER ...]: the wheel in a Debian root with python3 and nothing else, without a network.

ROOT is what `debootstrap --variant=minbase --include=python3,python3-venv` made; OTHER are wheels that pip may take too,
such as ziglang's. Needs root. `./dev python-wheel` makes all of it. Prints what things take, in seconds.
"""
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
ANOTHER = "tests/data/families/smollm3"  # a random model with whose type no unit lies ready
STORY = "import cke; print(cke.Model('assets/tiny').generate('Once upon a time'))"
FIRST = "import cke; print(next(iter(cke.Model('assets/tiny').generate('Once upon a time', stream=True))))"
LOGITS = f"import cke; print(len(cke.Model('{ANOTHER}').logits([1, 2, 3])))"
IMPORT = "import time; t = time.perf_counter(); import cke; print(time.perf_counter() - t)"


class Root:
    def __init__(self, at: Path) -> None:
        self.at = at
        for folder in ("assets/tiny", ANOTHER):
            shutil.rmtree(at / folder, ignore_errors=True)
            shutil.copytree(TREE / folder, at / folder)
        for folder in ("wheels", "venv", "root/.cache"):
            shutil.rmtree(at / folder, ignore_errors=True)
        (at / "wheels").mkdir()

    def run(self, *words: str, fails: bool = False) -> tuple[str, float]:
        """What it prints, and seconds."""
        start = time.perf_counter()
        done = subprocess.run(
            ["unshare", "-m", "-n", "sh", "-c", 'mount --rbind /proc "$0/proc" && exec chroot "$0" "$@"', str(self.at), *words],
            capture_output=True, text=True, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"})
        seconds = time.perf_counter() - start
        if (done.returncode != 0) != fails:
            raise SystemExit(f"{' '.join(words)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stderr if fails else done.stdout, seconds

    def python(self, code: str, **options: bool) -> tuple[str, float]:
        return self.run("/venv/bin/python", "-c", code, **options)


def main() -> None:
    wheel, root, *others = (Path(name) for name in sys.argv[1:])
    if os.geteuid() != 0:
        raise SystemExit("fresh_root.py: only root may change its root")
    r = Root(root)
    for file in (wheel, *others):
        shutil.copy(file, root / "wheels")
    said, _ = r.run("sh", "-c", "for c in cc g++ clang++ cmake; do command -v $c; done; true")
    assert not said, f"a compiler: {said}"
    r.run("python3", "-m", "venv", "/venv")
    pip = ["/venv/bin/pip", "install", "-q", "--no-index", "--find-links", "/wheels"]
    print(f"pip install {wheel.name} ({wheel.stat().st_size / 1e6:.1f} MB): {r.run(*pip, 'cke')[1]:.1f} s")
    print(r.python(STORY)[0].strip())
    print(f"import: {statistics.median(float(r.python(IMPORT)[0]) for _ in range(11)) * 1e3:.0f} ms, median of 11")
    starts = [r.python(FIRST)[1] for _ in range(11)]
    print(f"start of the process to its end after a first token: {statistics.median(starts):.2f} s, median of 11")
    refused, _ = r.python(LOGITS, fails=True)
    assert "cke[compiler]" in refused and "g++" in refused, refused
    print("another family without a compiler:", refused.strip().splitlines()[-1])
    if not any(file.name.startswith("ziglang") for file in others):
        return
    print(f"pip install cke[compiler]: {r.run(*pip, 'cke[compiler]')[1]:.1f} s")
    print(f"{ANOTHER}, the first time: {r.python(LOGITS)[1]:.1f} s")
    print(f"{ANOTHER}, later: {statistics.median(r.python(LOGITS)[1] for _ in range(5)):.2f} s, median of 5")


if __name__ == "__main__":
    main()
