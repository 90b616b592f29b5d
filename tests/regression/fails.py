# SPDX-License-Identifier: MIT
"""fails.py CKE: that check.py fails on each property that does not hold, names it, and misses a family."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import check

TINY, RANDOM = "assets/tiny", "tests/data/families/qwen2"
STORY = {"prompt": "Once upon a time", "max_tokens": 8}
NUMBER = {"type": "integer"}
# (model, case, words of the answer)
WRONG = [
    (TINY, STORY | {"text": "Long ago"}, "text: expected 'Long ago', found ', there was a"),
    (TINY, STORY | {"ends": True}, "ends (--temp 0): expected fewer than 8 tokens, found 8"),
    (TINY, STORY | {"options": ["--stop", ","]}, "text (--temp 0): expected an answer, found ''"),
    (TINY, STORY | {"max_tokens": 1, "options": ["--logit-bias", "128=100"], "seeds": 1},
     "text (--seed 1): expected no replacement character"),
    (TINY, {"prompt": "A number: ", "max_tokens": 8, "options": ["--temp", "0"],
            "schema": {"type": "object", "properties": {"x": NUMBER}}}, "schema: expected {"),
    (TINY, {"score": "Once upon a time, there was a girl.", "options": ["-c", "8"], "perplexity": [1, 0.02]},
     "perplexity: expected 1 within 2%, found "),
    (TINY, STORY | {"options": ["--no-such-option"]}, "--no-such-option"),
]
# Of the manifest's own row: (property, what it is changed to, words).
CHANGED = [
    ("ids", lambda ids: [ids[0] + 1, *ids[1:]], "ids: expected ["),
    ("best", lambda all: [[all[0][0], all[0][1] + 1]], "best after position "),
    ("logprob", lambda pair: [pair[0] + 1, pair[1]], "logprob: expected "),
]


def said(cke, manifest):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "manifest.json"
        file.write_text(json.dumps(manifest))
        done = subprocess.run([sys.executable, Path(check.__file__), cke, "--manifest", file, "--all"], capture_output=True, text=True)
    return done.returncode, done.stderr


def main():
    cke = sys.argv[1]
    models = json.loads(Path(check.__file__).with_name("manifest.json").read_text())["models"]
    case = next(m for m in models if m["model"] == RANDOM)["cases"][0]
    wrong = WRONG + [(RANDOM, case | {name: change(case[name])}, words) for name, change, words in CHANGED]
    # All at once: the problems are in the order of the rows, after the families that are missing.
    status, text = said(cke, {"models": [{"model": m, "family": "qwen3", "cases": [c]} for m, c, _ in wrong]})
    lines = [line for line in text.splitlines() if ", case 0: " in line]
    problems = [] if status == 1 else [f"expected status 1, found {status}"]
    if "the manifest has no model of llama" not in text:
        problems.append("a family that is missing was not missed")
    if len(lines) != len(wrong):
        problems.append(f"expected {len(wrong)} problems, found {len(lines)}")
    for (model, _, words), line in zip(wrong, lines):
        if not line.startswith(model) or words not in line:
            problems.append(f"expected {words!r}, found {line!r}")
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
