# SPDX-License-Identifier: MIT
"""configs.py: checks that cke reads every family's config.json as transformers does, or refuses it by the right key.

    python tools/parity/configs.py [--many N] [--seed N] [--build DIR] [FAMILY...]    (needs transformers 5.24, g++; no torch)

For each family it writes N valid configs at odd shapes with transformers' own class (as its keys, as to_dict() and as
save_pretrained() write them), has transformers read them back, and compares each member of cke's config with what
transformers resolved. Some hold a value that transformers takes and cke does not have: cke must refuse that key.
Each config is read once more with one wrong value: cke must refuse it by that key, or by the other one of a relation.
config_families.py says which attribute of transformers each member is.
"""

import argparse
import json
import math
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import transformers
from transformers import AutoConfig

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))
from config_families import DEAD, FAMILIES, IGNORED, families_of_transformers  # noqa: E402

transformers.logging.set_verbosity_error()
SHOWN = 5  # differences of a family that are printed


def compiled(build):
    """The reader of all families, compiled where it is older than the headers."""
    program, source = build / "read_config", HERE / "read_config.cpp"
    inputs = [source, *(ROOT / "include").rglob("*.hpp"), build / "families/cke_families.hpp"]
    if program.exists() and all(program.stat().st_mtime > f.stat().st_mtime for f in inputs):
        return program
    xsimd = sorted((ROOT / "build/deps").glob("xsimd-*/include"))
    command = ["g++", "-std=c++20", "-O0", "-I", ROOT / "include", "-I", build / "families", source, "-o", program]
    subprocess.run([str(word) for word in command] + [word for d in xsimd for word in ("-isystem", str(d))], check=True)
    return program


class Reader:
    """What cke makes of configs: a list of (model_type, text) becomes a list of answers."""

    def __init__(self, program):
        self.program = program

    def families(self):
        return subprocess.run([self.program, "--families"], capture_output=True, text=True, check=True).stdout.split()

    def __call__(self, texts):
        lines = "".join(f"{kind}\t{text}\n" for kind, text in texts)
        out = subprocess.run([self.program], input=lines, capture_output=True, text=True, check=True).stdout
        answers = [json.loads(line) for line in out.splitlines()]
        assert len(answers) == len(texts), f"{len(texts)} configs, {len(answers)} answers"
        return answers


def resolved(kind, text):
    """The config as transformers reads it from a file; an exception where it refuses it."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(text)
        file.flush()
        cls = type(AutoConfig.for_model(kind))
        values = cls._dict_from_json_file(file.name)
        config = cls.from_dict(values)
        if hasattr(config, "rope_parameters"):
            config.standardize_rope_params()  # as a rope does before it computes
        if config.is_heterogeneous:  # layers differ, and the config itself says nothing of these
            for name in ("head_dim", "num_key_value_heads"):
                setattr(config, f"{name}_of", config.to_dict()[name])
        config.in_file, config.text = set(json.loads(text)), text
        return config


def same(wanted, found):
    if isinstance(wanted, bool) or isinstance(found, bool):
        return wanted is found
    if isinstance(wanted, (int, float)) and isinstance(found, (int, float)):
        return wanted == found or math.isclose(wanted, found, rel_tol=1e-15) or (wanted == math.inf and found >= 1e300)
    if isinstance(wanted, (list, tuple)) and isinstance(found, list):
        return len(wanted) == len(found) and all(map(same, wanted, found))
    return wanted == found


def unlike(family, config, members):
    """(member, transformers' value, cke's value) of each member that differs. A member without an entry is one."""
    for name in sorted(members.keys() ^ family.members.keys()):
        yield name, "an entry in config_families.py" if name in members else "a member of cke's config", "none"
    for name, entry in family.members.items():
        wanted, found = entry.value(config), members.get(name)
        if isinstance(wanted, dict):  # a rope
            for part in sorted(found.keys() ^ wanted.keys()):
                yield f"{name}.{part}", "an entry", "none"
            for part, value in wanted.items():
                if value is not DEAD and not same(value, found.get(part)):
                    yield f"{name}.{part}", value, found.get(part)
        elif wanted is not DEAD and not same(wanted, found):
            yield name, wanted, found


def text_of(family, r, values):
    """The config's file, written in one of three ways."""
    form = r.choice(("keys", "keys", "full", "saved"))
    if form == "keys":
        return json.dumps(family.spelled(r, values))
    config = AutoConfig.for_model(family.kind, **family.spelled(r, values))
    return " ".join(config.to_json_string(use_diff=form == "saved").split())


def drawn(family, r, draw):
    """(text, config, special key) of the first draw that transformers takes and that is a model."""
    for _ in range(200):
        values, special = draw(r)
        try:
            text = text_of(family, r, values)
            config = resolved(family.kind, text)
        except Exception as error:  # a shape that transformers has a rule against
            reason = error
            continue
        if family.fits(config):
            return text, config, special if special and special in text else None
        reason = "fits() is never true"
    raise RuntimeError(f"{family.kind}: 200 draws without a valid config, the last because of: {reason}")


def valid_config(family, r):
    """(text, config, the keys of which cke is to refuse one; none: it is to read the config)."""

    def draw(r):
        values = family.draw(r)
        return values, family.make_special(r, values) if r.random() < 0.1 else None

    text, config, special = drawn(family, r, draw)
    return text, config, family.refusals(config) | ({special} if special else set())


def plain_config(family, r):
    """(text, config) of a config with all keys, none of which cke is to refuse."""
    while True:
        text, config, _ = drawn(family, r, lambda r: (family.plain(r), None))
        if not family.refusals(config):
            return text, config


def check(family, many, seed, read):
    r = random.Random(f"{family.kind} {seed}")
    counts, differences = Counter(), []
    valid = [valid_config(family, r) for _ in range(many)]
    for (text, config, special), answer in zip(valid, read([(family.kind, text) for text, _, _ in valid])):
        problem = answer.get("problem")
        if special := special | family.absent_of(json.loads(text)):
            if problem and problem["key"] in special:
                counts["refused"] += 1
                counts[problem["key"],] += 1
            else:
                differences.append((text, " or ".join(sorted(special)), "refused", problem or "read"))
        elif problem:
            differences.append((text, problem["key"], "read", problem))
        else:
            wrong = list(unlike(family, config, answer["members"]))
            counts["alike"] += not wrong
            differences += [(text, *w) for w in wrong[:1]]
    wrongs = []
    for text, config, special in valid:
        values = json.loads(text)
        if special or family.absent_of(values):
            text, config = plain_config(family, r)
            values = json.loads(text)
        wrongs.append(family.make_wrong(r, values, config))
    for (values, keys, what), answer in zip(wrongs, read([(family.kind, json.dumps(v)) for v, _, _ in wrongs])):
        problem = answer.get("problem")
        if problem and problem["key"] in keys:
            counts["wrong"] += 1
        else:
            differences.append((json.dumps(values), " or ".join(keys), f"refused for {what}", problem or "read"))
    return counts, differences


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--many", type=int, default=100, help="valid configs of a family, and wrong ones")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keys", action="store_true", help="print by which keys valid configs were refused")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", help="where cmake configured the build")
    parser.add_argument("families", nargs="*")
    args = parser.parse_args()
    read = Reader(compiled(args.build))
    known = read.families()
    if missing := set(known) ^ set(FAMILIES):
        sys.exit(f"configs.py: not both in cke and in config_families.py: {', '.join(sorted(missing))}")
    print(f"transformers {transformers.__version__}, seed {args.seed}")
    print(f"{'family':<20}{'valid, alike':>14}{'refused':>10}{'wrong, refused':>16}{'differences':>13}")
    total, shown = 0, []
    for kind in args.families or known:
        family = FAMILIES[kind]
        for field in families_of_transformers(kind) - family.attributes() - IGNORED:
            shown.append((kind, "", field, "an attribute of transformers' class", "in no table of config_families.py"))
        counts, differences = check(family, args.many, args.seed, read)
        print(f"{kind:<20}{counts['alike']:>14}{counts['refused']:>10}{counts['wrong']:>16}{len(differences):>13}", flush=True)
        if args.keys:
            print("  refused:", ", ".join(f"{key[0]} {n}" for key, n in counts.most_common() if isinstance(key, tuple)))
        total += len(differences)
        shown += [(kind, *d) for d in differences[:SHOWN]]
    for kind, text, key, wanted, found in shown:
        text = re.sub(r"\[ ?[-0-9.]+,[-0-9., ]+\]", "[...]", text)  # long lists of factors
        print(f"\n{kind}: {key}: transformers: {str(wanted)[:200]}; cke: {str(found)[:200]}\n  {text}")
    print(f"\n{total} differences")
    sys.exit(1 if total or shown else 0)


if __name__ == "__main__":
    main()
