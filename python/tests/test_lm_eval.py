# SPDX-License-Identifier: MIT
"""cke's model in the real lm-evaluation-harness (./dev python-peers installs it), with tasks over files that the test
writes: nothing is downloaded."""
import json
import os
from types import SimpleNamespace

import pytest

os.environ.setdefault("HF_DATASETS_OFFLINE", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
lm_eval = pytest.importorskip("lm_eval")
numpy = pytest.importorskip("numpy")

from cke.lm_eval import CkeLM  # noqa: E402


@pytest.fixture(scope="module")
def lm(tiny):
    return CkeLM(pretrained=tiny, threads=2, max_gen_toks=20)


def asked(*pairs):
    return [SimpleNamespace(args=pair) for pair in pairs]


def by_hand(model, before, after):
    """From all logits of one pass, in double."""
    ids = [*before, *after]
    rows = model.logits(ids[:-1])[len(before) - 1:].astype(numpy.float64)
    log = rows - numpy.log(numpy.exp(rows - rows.max(axis=1, keepdims=True)).sum(axis=1, keepdims=True)) \
        - rows.max(axis=1, keepdims=True)
    return log[numpy.arange(len(after)), after].sum(), (rows.argmax(axis=1) == after).all()


def test_loglikelihood(lm):
    model = lm.model
    pairs = [("Once upon a time", " there was"), ("The sea", " is blue"), ("Once upon a time", " zebra zebra"),
             ("Once upon a time", model.generate("Once upon a time", max_tokens=5)), ("", "Once upon"), ("The sea ", "is")]
    got = lm.loglikelihood(asked(*pairs), disable_tqdm=True)
    for (context, rest), (score, greedy) in zip(pairs, got):
        before, after = lm._encode_pair(context, rest) if context else (
            [lm.prefix_token_id], model.tokenize(rest, add_special=False))
        wanted = by_hand(model, before, after)
        assert score == pytest.approx(wanted[0], rel=1e-9) and greedy == wanted[1], (context, rest)
    assert got[3][1] and not got[2][1]
    assert lm.loglikelihood(asked(*pairs[::-1]), disable_tqdm=True) == got[::-1]


def test_a_context_that_is_too_long_is_cut_on_its_left(tiny):
    small = CkeLM(pretrained=tiny, context=16)
    long = "Once upon a time there was a little fish who lived in the sea with an old man and a bird and a boat"
    before, after = small._encode_pair(long, " and a dog")
    score, _ = small.loglikelihood(asked((long, " and a dog")), disable_tqdm=True)[0]
    assert len(before) > 17 and score == pytest.approx(by_hand(small.model, before[-(17 - len(after)):], after)[0], rel=1e-9)
    with pytest.raises(ValueError, match="continuation"):
        small.loglikelihood(asked(("a", " sea" * 40)), disable_tqdm=True)


def test_rolling(tiny, lm):
    text = "The old man and the sea. " * 8
    ids = lm.tok_encode(text)
    whole, = lm.loglikelihood_rolling(asked((text,)))
    assert whole == pytest.approx(by_hand(lm.model, [lm.prefix_token_id], ids)[0], rel=1e-9)
    small = CkeLM(pretrained=tiny, context=32)
    cut, = small.loglikelihood_rolling(asked((text,)))
    assert cut < 0 and cut != whole and len(ids) > 32


def test_generate_until(lm):
    requests = asked(("Once upon a time", {"until": ["."], "max_gen_toks": 30}), ("The sea", {"until": [], "do_sample": False}),
                     ("The sea", {"until": "zzz", "do_sample": True, "temperature": 0.8, "seed": 5}))
    got = lm.generate_until(requests)
    model = lm.model
    assert got == [model.generate("Once upon a time", max_tokens=30, stop=["."]), model.generate("The sea", max_tokens=20),
                   model.generate("The sea", max_tokens=20, stop=["zzz"], temperature=0.8, seed=5)]
    with pytest.raises(ValueError, match="num_beams"):
        lm.generate_until(asked(("a", {"until": [], "num_beams": 4})))
    with pytest.raises(ValueError, match="max_gen_toks"):
        lm.generate_until(asked(("a", {"until": [], "max_gen_toks": model.context})))


def test_tasks(tiny, lm, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    questions = [{"question": "Once upon a", "choices": [" time", " zebra"], "answer": 0},
                 {"question": "The old man lived by the", "choices": [" zebra", " sea"], "answer": 1}]
    data = tmp_path / "data.json"
    data.write_text("\n".join(map(json.dumps, questions)))
    files = {"dataset_path": "json", "dataset_kwargs": {"data_files": {"test": str(data)}}, "test_split": "test"}
    choice = {"task": "choice", "output_type": "multiple_choice", "doc_to_text": "{{question}}",
              "doc_to_choice": "{{choices}}", "doc_to_target": "answer", "target_delimiter": "",
              "metric_list": [{"metric": "acc"}], **files}
    words = {"task": "words", "output_type": "loglikelihood_rolling", "doc_to_text": "", "doc_to_target": "{{question}}",
             "metric_list": [{"metric": "word_perplexity"}], **files}
    free = {"task": "free", "output_type": "generate_until", "doc_to_text": "{{question}}", "doc_to_target": "{{choices[0]}}",
            "generation_kwargs": {"until": ["."], "max_gen_toks": 8}, "metric_list": [{"metric": "exact_match"}], **files}
    results = lm_eval.simple_evaluate(model="cke", model_args={"pretrained": tiny, "threads": 2}, tasks=[choice, words, free],
                                      bootstrap_iters=0, log_samples=True)
    assert results["results"]["choice"]["acc,none"] == 1
    total = sum(lm.loglikelihood_rolling(asked((q["question"],)))[0] for q in questions)
    count = sum(len(q["question"].split()) for q in questions)
    assert results["results"]["words"]["word_perplexity,none"] == pytest.approx(numpy.exp(-total / count), rel=1e-6)
    texts = [sample["resps"][0][0] for sample in results["samples"]["free"]]
    assert texts == [lm.model.generate(q["question"], max_tokens=8, stop=["."]) for q in questions]


def test_the_command_knows_it(tiny):
    import subprocess
    import sys
    from pathlib import Path
    done = subprocess.run([sys.executable, "-m", "cke.lm_eval", "run", "--help"], capture_output=True, text=True,
                          cwd=Path(__file__).parents[1])
    assert done.returncode == 0 and "--model_args" in done.stdout + done.stderr, done.stderr[-500:]
