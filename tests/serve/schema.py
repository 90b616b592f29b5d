# SPDX-License-Identifier: MIT
"""schema.py CKE MODEL EXAMPLES: schemathesis over /openapi.json, up to EXAMPLES for each operation and phase, right and wrong ones:
no 5xx, no wrong status for wrong data, every answer of its declared type."""
import re
import subprocess
import sys
from pathlib import Path

from harness import serving


def main(command: str, model: str, examples: str) -> None:
    with serving(command, model, "-c", "256", "--parallel", "4") as server:
        run = subprocess.run(
            [Path(sys.executable).with_name("schemathesis"), "run", server.url + "/openapi.json", "--max-examples", examples,
             "--generation-deterministic", "--continue-on-failure", "--warnings", "off", "--no-color",
             # What fits its schema can still be too long for the context, or name another model.
             "--exclude-checks", "positive_data_acceptance"],
            capture_output=True, text=True)
        generated = re.search(r"(\d+) generated", run.stdout)
        if run.returncode or not generated:
            sys.exit(run.stdout + run.stderr)
        assert server.request("GET", "/health")[0] == 200
        print(f"{generated[1]} requests, none answered wrongly")


if __name__ == "__main__":
    main(*sys.argv[1:])
