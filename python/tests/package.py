# SPDX-License-Identifier: MIT
"""package.py PREFIX TREE: what a wheel has, run from an empty folder by a fresh interpreter. PREFIX holds what `cmake
--install --component python` made; the package is put together as scikit-build-core does. No file of the source tree may
be opened: strace watches, where there is one."""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

prefix, tree = map(Path, sys.argv[1:])
site = prefix.parent / "site"
shutil.rmtree(site, ignore_errors=True)
shutil.copytree(tree / "python/cke", site / "cke", ignore=shutil.ignore_patterns("__pycache__"))
os.rename(prefix, site / "cke/_prefix")

with tempfile.TemporaryDirectory() as empty:
    shutil.copytree(tree / "assets/tiny", Path(empty) / "tiny")
    trace = Path(empty) / "trace"
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(site), "CKE_CACHE": os.environ["CKE_CACHE"]}
    program = ("import cke, sys; m = cke.Model('tiny', threads=2); print(m.generate('Once upon a time', max_tokens=20));"
               "assert cke._library.find('bin/cke', 'none').startswith(sys.argv[1])")
    words = [sys.executable, "-S", "-c", program, str(site)]
    strace = shutil.which("strace")
    if strace:
        words = [strace, "-f", "-qq", "-e", "trace=openat,open,execve", "-o", str(trace), *words]
    got = subprocess.run(words, cwd=empty, env=environment, capture_output=True, text=True)
    assert got.returncode == 0, got.stderr
    wanted = subprocess.run([sys.executable, "-S", "-m", "cke", "run", "tiny", "-p", "Once upon a time", "-n", "20"],
                            cwd=empty, env=environment, capture_output=True, text=True)
    assert wanted.returncode == 0, wanted.stderr
    assert got.stdout == wanted.stdout != "", (got.stdout, wanted.stdout)
    if strace:
        own = (str(site), str(tree / "build/venv"), environment["CKE_CACHE"])
        opened = [line for line in trace.read_text().splitlines()
                  if str(tree) + "/" in line and " = -1 " not in line and not any(o in line for o in own)]
        assert not opened, opened[:5]
    print("as the command, from", site, "" if strace else "(no strace: what it opened was not watched)")
