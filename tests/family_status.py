# SPDX-License-Identifier: MIT
"""family_status.py CKE FOLDER: after parity, top and tools have run, `cke families` says what they established."""
import json
import subprocess
import sys

cke, folder = sys.argv[1:]
families = json.loads(subprocess.run([cke, "families", "--json", "--status", folder], check=True, capture_output=True, text=True).stdout)
table = subprocess.run([cke, "families"], check=True, capture_output=True, text=True).stdout
with open(folder + "/commit") as file:
    commit = file.read().strip()
problems = [] if commit in table else [f"cke families does not name the commit {commit}"]
for family in families:
    # Parity is tested for every family, and so is writing it as GGUF where GGUF has a name for it.
    wanted = {"config", "load_hf", "logits", "generation"}
    missing = sorted(c for c in wanted if not family["established"][c])
    if missing:
        problems.append(f"{family['model_type']}: no test establishes {', '.join(missing)}")
tiny = next(f["established"] for f in families if f["model_type"] == "qwen3")
problems += [f"qwen3: {c} is not established" for c in ("load_gguf", "tokenizer", "template") if not tiny[c]]
if not any(f["established"]["export"] for f in families):
    problems.append("no test establishes an export")
print(table)
if problems:
    sys.exit("\n".join(problems))
