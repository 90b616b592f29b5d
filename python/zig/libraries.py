# SPDX-License-Identifier: MIT
"""libraries.py FOLDER: the C++ libraries of ziglang's compiler into FOLDER, for any x86-64, with their licences. zig
compiles them from its sources; zig-c++ links with them.
"""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import ziglang

LIBRARIES = ("libc++.a", "libc++abi.a", "libunwind.a", "libcompiler_rt.a")

folder = Path(sys.argv[1])
package = Path(ziglang.__file__).parent
zig = package / "zig"
folder.mkdir(parents=True, exist_ok=True)
with tempfile.TemporaryDirectory() as scratch:
    source = Path(scratch, "any.cpp")
    source.write_text("#include <string>\nvoid any(std::string& s) { s.at(1) = 'x'; }\n")
    command = [zig, "c++", "-O2", "-s", "-march=x86_64", "-fPIC", "-shared", source, "-o", f"{scratch}/any.so"]
    caches = {"ZIG_GLOBAL_CACHE_DIR": scratch, "ZIG_LOCAL_CACHE_DIR": scratch}
    subprocess.run(command, check=True, env={**os.environ, **caches})
    for name in LIBRARIES:
        made = list(Path(scratch).rglob(name))
        if len(made) != 1:
            sys.exit(f"libraries.py: {zig}: expected one {name} in its cache, found {len(made)}")
        shutil.copy(made[0], folder / name)
shutil.copy(package / "LICENSE", folder / "LICENSE.zig")
for name in ("libcxx", "libcxxabi", "libunwind"):
    shutil.copy(package / "lib" / name / "LICENSE.TXT", folder / f"LICENSE.{name}")
