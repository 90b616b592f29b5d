# SPDX-License-Identifier: MIT
"""package.py PREFIX TREE: what a wheel has, run from an empty folder by a fresh interpreter. PREFIX holds what `cmake
--install --component python` made; the package is put together as scikit-build-core does. The unit is compiled by
cke.build, then put where a wheel has its ready ones, and must be used where there is no compiler. No file of the source
tree may be opened: strace watches, where there is one. Libraries are the package's own, or any Linux's."""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from empty_root import libraries_of

prefix, tree = (Path(word).resolve() for word in sys.argv[1:])
site = prefix.parent / "site"
shutil.rmtree(site, ignore_errors=True)
shutil.copytree(tree / "python/cke", site / "cke", ignore=shutil.ignore_patterns("__pycache__"))
os.rename(prefix, site / "cke/_prefix")
units = site / "cke/_prefix/lib/cke/units"
everywhere = ("libc.so", "libm.so", "libgcc_s.so", "libstdc++.so", "libresolv.so", "ld-linux")
brought = {file.name for file in (site / "cke/_prefix/lib").iterdir()}
for object in [site / "cke/_prefix/bin/cke", *(site / "cke/_prefix/lib").glob("*.so*")]:
    missing = [name for name in libraries_of(object) if name not in brought and not name.startswith(everywhere)]
    assert not missing, (object, missing)
shutil.rmtree(units, ignore_errors=True)  # those of a build that made them

with tempfile.TemporaryDirectory() as empty:
    shutil.copytree(tree / "assets/tiny", Path(empty) / "tiny")
    trace = Path(empty) / "trace"
    usual = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(site), "CKE_CACHE": os.environ["CKE_CACHE"]}
    without = {**usual, "CKE_CACHE": empty + "/cache", "CKE_CXX": "/nonexistent/c++"}
    strace = shutil.which("strace")

    def run(environment, *words, watched=False):
        command = [sys.executable, "-S", *words]
        if watched and strace:
            command = [strace, "-f", "-qq", "-e", "trace=openat,open", "-o", str(trace), *command]
        return subprocess.run(command, cwd=empty, env=environment, capture_output=True, text=True)

    built = run(usual, "-c", "import cke; print(cke.build('tiny'))", watched=True)
    assert built.returncode == 0, built.stderr
    program = ("import cke, sys; m = cke.Model('tiny', threads=2); print(m.generate('Once upon a time', max_tokens=20));"
               "assert cke._library.find('bin/cke', 'none').startswith(sys.argv[1])")
    generate = ("-c", program, str(site))

    none = run(without, *generate)
    assert none.returncode == 1 and "g++ 12 or clang 19" in none.stderr and "cke[compiler]" in none.stderr, none.stderr
    text = run(without, "-m", "cke", "build", "tiny", "--print-unit").stdout
    (units / "tiny").mkdir(parents=True)
    (units / "tiny/unit.cpp").write_text(text + "\n")
    shutil.copy(built.stdout.strip(), units / "tiny/avx2.so")
    assert run(without, *generate).returncode == 1, "a unit of another text was taken"
    (units / "tiny/unit.cpp").write_text(text)
    got = run(without, *generate)
    assert got.returncode == 0, got.stderr
    wanted = run(without, "-m", "cke", "run", "tiny", "-p", "Once upon a time", "-n", "20")
    assert wanted.returncode == 0, wanted.stderr
    assert got.stdout == wanted.stdout != "", (got.stdout, wanted.stdout)
    assert not Path(without["CKE_CACHE"]).exists(), "a ready unit needs no cache"
    own_machine = run({**without, "CKE_MARCH": "native"}, *generate)
    assert own_machine.returncode == 1 and "C++ compiler" in own_machine.stderr, own_machine.stderr
    if strace:
        own = (str(site), str(tree / "build/venv"), usual["CKE_CACHE"])
        opened = [line for line in trace.read_text().splitlines()
                  if str(tree) + "/" in line and " = -1 " not in line and not any(o in line for o in own)]
        assert not opened, opened[:5]
    print("as the command, from", site, "" if strace else "(no strace: what it opened was not watched)")
