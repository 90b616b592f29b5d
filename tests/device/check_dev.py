#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_dev.py DEV: ./dev device-check on a machine with a driver, nvcc, and no network: it runs the program that is there,
and asks nothing of apt, PyPI or a compiler."""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ASKED = ["apt-get", "apt-cache", "dpkg-query", "pip", "python3", "nvcc", "cmake", "ninja", "g++", "sudo"]


def script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


def main(dev: str) -> int:
    wrong = []
    for at in ("build/device-check", "build/release"):
        with tempfile.TemporaryDirectory() as name:
            root = Path(name)
            shutil.copy(dev, root / "dev")
            (root / "dev").chmod(0o755)
            for program in ASKED:
                script(root / "bin" / program, f'echo "{program} $*" >> {root}/asked\nexit 1\n')
            script(root / at / "device_check", "echo '{}'\nexit 3\n")
            run = subprocess.run([root / "dev", "device-check"], capture_output=True, text=True,
                                 env={"PATH": f"{root}/bin:/usr/bin:/bin", "HOME": os.environ.get("HOME", "/")})
            asked = (root / "asked").read_text() if (root / "asked").exists() else ""
            if asked or run.returncode != 3 or run.stdout != "{}\n":
                wrong.append(f"{at}/device_check: exit status {run.returncode}, {run.stdout!r}, {run.stderr!r}; asked: {asked!r}")
    print("\n".join(wrong) or "what is there is run, and nothing is asked of the network")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
