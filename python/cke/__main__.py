# SPDX-License-Identifier: MIT
"""python -m cke: the cke command."""
from __future__ import annotations

import os
import shutil
import sys

from ._library import choose_compiler, find


def main() -> None:
    command = find("bin/cke", "cke") or shutil.which("cke")
    if command is None:
        sys.exit("cke: error: expected the cke command in the package or in PATH, found none")
    choose_compiler()
    os.execv(command, ["cke", *sys.argv[1:]])


if __name__ == "__main__":
    main()
