# SPDX-License-Identifier: MIT
"""make.py: what transformers' beam search finds with models/qwen3_tied, at many settings: beams.json.

    python tests/data/beams/make.py        (needs torch and transformers 5)

A case whose answers are others in double precision hangs on a near tie, and is left out.
"""

import itertools
import json
import random
import sys
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tools" / "parity"))
import checkpoints  # noqa: E402


@torch.no_grad()
def search(model, case):
    out = model.generate(
        torch.tensor([case["prompt"]]), do_sample=False, num_beams=case["beams"], num_return_sequences=case["answers"], max_new_tokens=case["max_tokens"],
        length_penalty=case["length_penalty"], early_stopping=case["early_stopping"], eos_token_id=case["stop_ids"], pad_token_id=0,
        output_scores=True, return_dict_in_generate=True)
    answers = []
    for row in out.sequences.tolist():
        new = row[len(case["prompt"]):]
        end = next((i + 1 for i, token in enumerate(new) if token in case["stop_ids"]), len(new))  # then it is padded
        answers.append(new[:end])
    return answers, out.sequences_scores.tolist()


if __name__ == "__main__":
    single = checkpoints.load(HERE.parent / "models" / "qwen3_tied")
    double = checkpoints.load(HERE.parent / "models" / "qwen3_tied").double()
    cases, stopped = [], 0
    pick = random.Random(5)
    for beams, penalty, early in itertools.product((2, 3, 4, 6, 9), (-0.5, 0.0, 1.0, 2.0), (False, True, "never")):
        case = {"prompt": checkpoints.random_ids(single.config.vocab_size, pick.randint(1, 30), pick.randint(0, 10**6)), "beams": beams,
                "answers": pick.randint(1, beams), "max_tokens": pick.randint(1, 14), "length_penalty": penalty, "early_stopping": early,
                # Many ids end a text, or a random model would hardly ever end one.
                "stop_ids": sorted(pick.sample(range(single.config.vocab_size), pick.choice((1, 40, 100))))}
        answers, scores = search(single, case)
        if answers != search(double, case)[0]:
            continue
        stopped += sum(a[-1] in case["stop_ids"] for a in answers)
        cases.append(case | {"found": answers, "scores": scores})
    if len(cases) < 50 or stopped < 40:
        raise SystemExit(f"{len(cases)} cases, {stopped} answers that end")
    (HERE / "beams.json").write_text("[" + ",\n ".join(json.dumps(c) for c in cases) + "]\n")
    print(len(cases), "cases,", stopped, "answers that end")
