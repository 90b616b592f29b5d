# SPDX-License-Identifier: MIT
"""What the tests share. CKE_TOOL: the command; CKE_TINY: assets/tiny."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "python"))

import cke  # noqa: E402

COMMAND = os.environ.get("CKE_TOOL", str(TREE / "build/release/cke"))
TINY = os.environ.get("CKE_TINY", str(TREE / "assets/tiny"))


def run_command(*words):
    """What the command prints."""
    done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@pytest.fixture(scope="session")
def command():
    return run_command


@pytest.fixture(scope="session")
def tiny():
    return TINY


@pytest.fixture(scope="session")
def model():
    with cke.Model(TINY) as opened:
        yield opened
