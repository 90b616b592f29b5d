#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_program.py PROGRAM DRIVER: the program as a whole, before a driver that answers as its environment says
(fake_driver.cpp). Where there is nothing to check it says so in one line, with exit status 3, also if the driver
crashes. Where there is a device, each part that fails is a row and the next one goes on; the JSON at the end is one."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

NO_DEVICE = 3
NOTHING_TO_CHECK = [({"FAKE_CRASH": "1"}, "the driver does not answer"),
                    ({"FAKE_INIT": "100"}, "the driver does not start (error 100)"),
                    ({"FAKE_DEVICES": "0"}, "the driver has no device"),
                    ({"FAKE_SM": "61"}, "the first device is an sm_61, and kernels are for sm_75 and newer")]
PARTS = ["device", "read_peak", "launches", "exchanges", "toy", "lane_copies",
         "q8_0_answers", "q8_0_speed", "q8_0_time", "bf16_answers", "bf16_speed", "bf16_time", "jitter"]


def not_a_number(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


def wrong_about_parts(run: subprocess.CompletedProcess) -> list[str]:
    wrong = [] if run.returncode == 1 else [f"with parts that fail: exit status {run.returncode}"]
    try:
        rows = json.loads(run.stdout, parse_constant=not_a_number)
    except ValueError as e:
        return [*wrong, f"{e}: {run.stdout!r}"]
    wrong += [f"{part}: {rows.get(part + '_runs')}, {rows.get(part + '_error')}" for part in PARTS
              if rows.get(part + "_runs") is not False or not rows.get(part + "_error")]
    wrong += [f"{part}: no row in the table" for part in PARTS if part + "_runs" not in run.stderr]
    wrong += [f"{row}: no row" for row in ("toy_under_memcheck", "llama_cpp_bf16") if row not in rows]  # the last parts
    return wrong


def main(program: str, driver: str) -> int:
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "libcuda.so.1").symlink_to(Path(driver).resolve())

        def run(**env: str) -> subprocess.CompletedProcess:
            return subprocess.run([program], capture_output=True, text=True, timeout=120, cwd=folder,
                                  env={"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": folder, **env})

        for env, why in NOTHING_TO_CHECK:
            said = run(**env)
            if said.returncode != NO_DEVICE or said.stdout or said.stderr != f"device-check: no device: {why}\n":
                wrong.append(f"{env}: exit status {said.returncode}, stdout {said.stdout!r}, stderr {said.stderr!r}")
        wrong += wrong_about_parts(run())
    print("\n".join(wrong) or f"{len(NOTHING_TO_CHECK)} drivers without a device, and {len(PARTS)} parts that fail")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
