# SPDX-License-Identifier: MIT
"""make.py CKE: writes manifest.json. Needs nothing but Python and the command.

Of random models, prompts, greedy ids and logits are those of transformers (tests/data/families/make.py), except for
three whose data in tests are of pictures: theirs are the command's own. The command
rounds weights and activations as the file's format does, so a property is written down only where it has room:
a greatest logit that is ahead of the second by MARGIN of the logits' deviation, and greedy ids up to the first step
that is not. The command itself must be within half of each tolerance, or nothing is written.
"""
import argparse
import json
import statistics
import sys
from pathlib import Path

import check

MARGIN = 0.1      # of the logits' deviation: 10 times what bfloat16 makes of them at most (tests/parity/parity.hpp)
TOLERANCE = 0.05  # of that deviation: of a mean of log-probabilities
TINY = "assets/tiny"
PERSON = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"},
                                           "kind": {"enum": ["cat", "dog", "fox"]}},
          "required": ["name", "age", "kind"]}
STORY = ("Once upon a time, there was a little girl named Anna. Anna had a red ball. One day, she went to the park with "
         "her friend Tom. They played with the ball all day. Then it was time to go home. Anna was happy.")
RED_BALL = "Mia has a red ball. Tom has a blue kite. What colour is the ball?"
TINY_CASES = [
    {"prompt": "Once upon a time", "options": [], "max_tokens": 34, "reference": 0},
    {"prompt": RED_BALL, "options": ["--no-think"], "max_tokens": 40, "reference": 1, "ends": True},
    {"prompt": RED_BALL, "options": ["--think"], "max_tokens": 60, "reference": 2, "ends": True},
    {"prompt": "What can you tell me about the sea?", "options": ["--no-think"], "max_tokens": 40, "reference": 3,
     "ends": True},
    {"prompt": "Tell me a story about a fox.", "options": ["--no-think", "--temp", "0.8"], "max_tokens": 400, "seeds": 3,
     "ends": True},
    {"prompt": "One day, a little", "options": ["--temp", "1", "--top-p", "0.95"], "max_tokens": 60, "seeds": 4},
    {"prompt": "An animal: ", "options": ["--temp", "0"], "max_tokens": 60, "schema": PERSON},
]


def gap(row):
    first, second = sorted(row)[:-3:-1]
    return first - second


def random_model(cke, folder):
    """The row of a random model with what transformers makes of it, or the command where tests have no such data."""
    run, path = check.Command(cke, check.ROOT / folder), check.ROOT / folder
    config = json.loads((path / "config.json").read_text())
    if (path / "logits.npy").exists():
        family = config["model_type"]
        ids, greedy = (json.loads((path / f"{name}.json").read_text()) for name in ("ids", "greedy"))
        wanted = check.read_npy(path / "logits.npy")
    else:
        family = config["text_config"]["model_type"]
        ids = [17 * i % 60 + 3 for i in range(1, 25)]
        wanted, greedy = run.logits(ids), run.greedy(ids, 16)
    deviation = statistics.pstdev(x for row in wanted for x in row)
    ours = run.logits(ids + greedy)
    room = [gap(row) >= MARGIN * deviation for row in ours[len(ids) - 1 :]]
    kept = greedy[: room.index(False) if False in room else len(greedy)]
    case = {"tokens": ids, "ids": kept,
            "best": [[i, check.best(row)] for i, row in enumerate(wanted) if gap(row) >= MARGIN * deviation],
            "logprob": [round(check.mean_logprob(wanted, ids), 4), round(TOLERANCE * deviation, 4)]}
    if not kept:
        del case["ids"]
    return {"model": folder, "family": family, "cases": [case]}


def tiny(cke):
    """The row of the trained model; its greedy answers are transformers'."""
    run, cases = check.Command(cke, check.ROOT / TINY), []
    answers = json.loads((check.ROOT / "tests/data/tiny/reference.json").read_text())
    for case in map(dict, TINY_CASES):
        if "reference" in case:
            case["text"] = answers[case.pop("reference")]["text"].removesuffix("<|im_end|>")
        cases.append(case)
    for options in [], ["--format", "q8_0"]:
        cases.append({"score": STORY, "options": ["-c", "32", *options],
                      "perplexity": [round(run.perplexity(STORY, "-c", 32), 3), 0.02]})
    return {"model": TINY, "family": "qwen3", "cases": cases}


def operations(cke, model):
    """What it does, with the shape of weights left aside."""
    plan = json.loads(check.Command(cke, check.ROOT / model["model"])("inspect", "--plan", "--json"))["plan"]
    return {i["op"] for code in plan["codes"] for i in code["instructions"]}


def choose(cke, models):
    """Marks the trained model, and few others that have every operation: each time the one that adds most."""
    all_of = {m["model"]: operations(cke, m) for m in models}
    missing = set().union(*all_of.values())
    chosen = next(m for m in models if m["model"] == TINY)
    while missing:
        chosen["always"] = True
        missing -= all_of[chosen["model"]]
        chosen = max(models, key=lambda m: len(all_of[m["model"]] & missing))


def halved(model):
    """The same with half of each tolerance."""
    model = json.loads(json.dumps(model))
    for case in model["cases"]:
        for name in "logprob", "perplexity":
            if name in case:
                case[name][1] /= 2
    return model


def folders():
    """A model of each family; qwen3 is assets/tiny."""
    for config in sorted((check.ROOT / "tests/data/families").glob("*/config.json")):
        if config.parent.name == json.loads(config.read_text())["model_type"]:
            yield str(config.parent.relative_to(check.ROOT))
    yield "tests/data/models/llama_untied"
    yield from (f"tests/data/vision/{name}" for name in ("qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe"))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("cke")
    cke = options.parse_args().cke
    models = [tiny(cke), *(random_model(cke, folder) for folder in folders())]
    problems = [p for m in models for p in check.check_model(cke, check.ROOT, halved(m))]
    if problems := problems + check.check_families(cke, models):
        sys.exit("\n".join(problems))
    choose(cke, models)
    rows = ",\n".join(json.dumps(m, ensure_ascii=False) for m in models)
    Path(__file__).with_name("manifest.json").write_text(f'{{"models": [\n{rows}\n]}}\n')
    always = [m["model"] for m in models if m.get("always")]
    print(f"{len(models)} models; always: {', '.join(always)}")


if __name__ == "__main__":
    main()
