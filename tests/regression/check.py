# SPDX-License-Identifier: MIT
"""check.py CKE [--manifest FILE] [--all]: runs the prompts of a manifest through the command, and checks what it says.

Paths of models are relative to the repository, or to --root. Without --all only models marked "always" run: they hold
every operation that the others have, and fit into a run of the suite. A model is one row:

    {"model": "assets/tiny", "family": "qwen3", "always": true, "cases": [CASE, ...]}

A case has a prompt, and properties of what comes of it that do not depend on the instruction set:

    prompt | tokens, max_tokens, options    the prompt (a text or ids), and more options of cke run
    text                the answer is this text
    ids                 the greedy ids begin with these
    best                [position, id]: the greatest logit after each of these positions of `tokens`
    logprob             [mean, tolerance]: of the ids of `tokens` after the first
    seeds               as many sampled answers; each is UTF-8 without a replacement character, and not empty
    ends                every answer ends by itself, before max_tokens
    schema              the answer is JSON of this schema; max_tokens may be too few for a model's own ending
    score, perplexity   a text, and [perplexity, tolerance as a share] of it; options are those of cke perplexity
"""
import argparse
import array
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Wrong(Exception):
    """A property that does not hold, or a command that failed."""


class Command:
    def __init__(self, cke, model):
        self.cke, self.model = cke, str(model)

    def __call__(self, name, *words):
        done = subprocess.run([self.cke, name, self.model, *map(str, words)], capture_output=True)
        if done.returncode != 0:
            raise Wrong(done.stderr.decode(errors="replace").strip() or f"cke {name} ended with {done.returncode}")
        return done.stdout

    def greedy(self, ids, count, *options):
        return json.loads(self("run", "--tokens", joined(ids), "-n", count, "--temp", 0, "--ids", *options))

    def logits(self, ids, *options):
        """A row of numbers for each id."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "logits.npy"
            self("logits", "--tokens", joined(ids), "-o", file, *options)
            return read_npy(file)

    def perplexity(self, text, *options):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(text)
            file.flush()
            return json.loads(self("perplexity", "-f", file.name, "--json", *options))["perplexity"]


def joined(ids):
    return ",".join(map(str, ids))


def read_npy(path):
    """The rows of a numpy file of little-endian float32, two-dimensional."""
    data = path.read_bytes()
    begin = 10 + int.from_bytes(data[8:10], "little")
    header = data[10:begin].decode()
    shape = re.search(r"'shape': \((\d+), (\d+)\)", header)
    if "'<f4', 'fortran_order': False" not in header or not shape:
        raise Wrong(f"{path}: expected float32 [rows, columns], found {header}")
    numbers = array.array("f", data[begin:])
    if sys.byteorder == "big":
        numbers.byteswap()
    width = int(shape[2])
    return [numbers[i : i + width] for i in range(0, len(numbers), width)]


def logprob(row, index):
    most = max(row)
    return row[index] - most - math.log(sum(math.exp(x - most) for x in row))


def mean_logprob(rows, ids):
    return sum(logprob(row, i) for row, i in zip(rows, ids[1:])) / (len(ids) - 1)


def best(row):
    return max(range(len(row)), key=row.__getitem__)


def expect(holds, what, wanted, found):
    if not holds:
        raise Wrong(f"{what}: expected {wanted}, found {found}")


def fits(value, schema):
    """Whether a value has this schema: of its words, those that a manifest uses."""
    if "enum" in schema:
        return value in schema["enum"]
    kinds = {"object": dict, "string": str, "integer": int, "boolean": bool, "array": list}
    if not isinstance(value, kinds[schema["type"]]) or (schema["type"] == "integer" and isinstance(value, bool)):
        return False
    if schema["type"] == "object":
        parts = schema["properties"]
        return set(value) == set(parts) and all(fits(value[name], parts[name]) for name in parts)
    return schema["type"] != "array" or all(fits(one, schema["items"]) for one in value)


def check_text(run, case):
    options, most = case.get("options", []), case["max_tokens"]
    how = ["-n", most, *options]
    if "schema" in case:
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(case["schema"], file)
            file.flush()
            text = run("run", "-p", case["prompt"], "--json-schema", file.name, *how).decode()
        try:
            value = json.loads(text)
        except ValueError:
            raise Wrong(f"schema: expected JSON, found {text!r}") from None
        return expect(fits(value, case["schema"]), "schema", json.dumps(case["schema"]), text)
    samples = [["--seed", seed] for seed in range(1, case["seeds"] + 1)] if "seeds" in case else [["--temp", 0]]
    for sample in samples:
        which = " ".join(map(str, sample))
        data = run("run", "-p", case["prompt"], *how, *sample)
        try:
            text = data.decode().removesuffix("\n")
        except UnicodeDecodeError as error:
            raise Wrong(f"text ({which}): expected UTF-8, found {error}") from None
        expect("\N{REPLACEMENT CHARACTER}" not in text, f"text ({which})", "no replacement character", repr(text))
        expect(text.strip() != "", f"text ({which})", "an answer", repr(text))
        if "text" in case:
            expect(text == case["text"], "text", repr(case["text"]), repr(text))
        if case.get("ends"):
            count = len(json.loads(run("run", "-p", case["prompt"], "--ids", *how, *sample)))
            expect(count < most, f"ends ({which})", f"fewer than {most} tokens", count)


def check_tokens(run, case):
    ids, options = case["tokens"], case.get("options", [])
    if "ids" in case:
        found = run.greedy(ids, len(case["ids"]), *options)
        expect(found == case["ids"], "ids", case["ids"], found)
    rows = run.logits(ids, *options)
    expect(all(map(math.isfinite, (x for row in rows for x in row))), "logits", "numbers", "infinity or NaN")
    for position, wanted in case.get("best", []):
        found = best(rows[position])
        expect(found == wanted, f"best after position {position}", wanted, found)
    if "logprob" in case:
        (mean, tolerance), found = case["logprob"], mean_logprob(rows, ids)
        expect(abs(found - mean) <= tolerance, "logprob", f"{mean} within {tolerance}", f"{found:.4f}")


def check_case(run, case):
    if "score" in case:
        (wanted, tolerance), found = case["perplexity"], run.perplexity(case["score"], *case.get("options", []))
        expect(abs(found / wanted - 1) <= tolerance, "perplexity", f"{wanted} within {tolerance:.0%}", f"{found:.4f}")
    elif "tokens" in case:
        check_tokens(run, case)
    else:
        check_text(run, case)


def check_model(cke, root, model):
    """What is wrong with it, a line for each case."""
    problems, run = [], Command(cke, root / model["model"])
    for number, case in enumerate(model["cases"]):
        try:
            check_case(run, case)
        except Wrong as wrong:
            problems.append(f"{model['model']}, case {number}: {wrong}")
    return problems


def check_families(cke, models):
    """A family without a model in the manifest is a gap in it."""
    known = subprocess.run([cke, "families", "--json"], check=True, capture_output=True).stdout
    missing = {f["model_type"] for f in json.loads(known)} - {m["family"] for m in models}
    return [f"the manifest has no model of {family}" for family in sorted(missing)]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("cke")
    options.add_argument("--manifest", type=Path, default=Path(__file__).with_name("manifest.json"))
    options.add_argument("--root", type=Path, default=ROOT)
    options.add_argument("--all", action="store_true")
    args = options.parse_args()
    models = json.loads(args.manifest.read_text())["models"]
    chosen = [m for m in models if args.all or m.get("always")]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda m: check_model(args.cke, args.root, m), chosen)
        problems = check_families(args.cke, models) + [p for some in found for p in some]
    cases = sum(len(m["cases"]) for m in chosen)
    print(f"{len(chosen)} of {len(models)} models, {cases} cases, {len(problems)} problems")
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
