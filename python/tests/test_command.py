# SPDX-License-Identifier: MIT
"""Ids, texts, logits and vectors are the command's."""
import json
import subprocess
import sys
from pathlib import Path

import pytest

numpy = pytest.importorskip("numpy")

PROMPTS = ["Once upon a time", "The sea is", "I saw 3 birds — and then", "  two  spaces\nand a line"]
SAMPLED = [dict(temperature=0), dict(temperature=0.8, seed=7), dict(temperature=1.3, top_k=20, seed=3),
           dict(temperature=1.0, top_p=0.7, min_p=0.02, seed=1), dict(temperature=1.0, typical_p=0.5, seed=9),
           dict(repeat_penalty=1.3, repeat_last_n=16), dict(frequency_penalty=0.5, presence_penalty=0.25),
           dict(stop=["."]), dict(min_tokens=60, max_tokens=80), dict(logit_bias={5: -100, 6: 3})]
WORDS = {"max_tokens": "-n", "temperature": "--temp"}


def words_of(options):
    for name, value in options.items():
        if name == "stop":
            for text in value:
                yield from ("--stop", text)
        elif name == "logit_bias":
            for token, bias in value.items():
                yield from ("--logit-bias", f"{token}={bias}")
        else:
            yield from (WORDS.get(name, "--" + name.replace("_", "-")), str(value))


@pytest.mark.parametrize("options", SAMPLED, ids=str)
def test_text(model, tiny, command, options):
    options = {"max_tokens": 40, **options}
    wanted = command("run", tiny, "-p", PROMPTS[0], *words_of(options))
    assert model.generate(PROMPTS[0], **options) + "\n" == wanted
    assert "".join(model.generate(PROMPTS[0], stream=True, **options)) + "\n" == wanted
    with model.session() as session:
        assert session.generate(PROMPTS[0], **options) + "\n" == wanted


def test_default_options(model, tiny, command):
    assert model.generate(PROMPTS[1]) + "\n" == command("run", tiny, "-p", PROMPTS[1])


def test_ids(model, tiny, command):
    for text in PROMPTS:
        ids = model.tokenize(text)
        assert str(ids) + "\n" == command("tokenize", tiny, "-p", text)
        assert model.detokenize(ids) == command("detokenize", tiny, "--tokens", ",".join(map(str, ids)))
    assert model.tokenize("") == json.loads(command("tokenize", tiny, "-p", ""))
    assert model.detokenize([]) == ""


def test_bytes_of_a_cut_character(model):
    ids = model.tokenize("naïve — ☃", add_special=False)
    whole = model.detokenize_bytes(ids)
    assert whole.decode() == model.detokenize(ids)
    assert b"".join(model.detokenize_bytes([i]) for i in ids) == whole


def test_logits(model, tiny, command, tmp_path):
    ids = model.tokenize("The old man and the sea")
    command("logits", tiny, "--tokens", ",".join(map(str, ids)), "-o", tmp_path / "all.npy")
    wanted = numpy.load(tmp_path / "all.npy")
    got = model.logits(ids)
    assert got.shape == (len(ids), model.vocab_size) == wanted.shape
    assert (got.view(numpy.uint32) == wanted.view(numpy.uint32)).all()
    with model.session() as session:
        row = session.feed(ids).logits
        assert row.shape == (model.vocab_size,) and row.tobytes() == wanted[-1].tobytes()


def test_logits_without_numpy(tiny):
    program = ("import sys; sys.modules['numpy'] = None; import cke; m = cke.Model(sys.argv[1]); s = m.session();"
               "row = s.feed('The sea').logits; assert row.shape == (m.vocab_size,); rows = m.logits('The sea');"
               "assert rows.shape[1] == m.vocab_size and rows.tolist()[-1] == row.tolist();"
               "assert s.feed_all([]).tolist() == [];"
               "print(cke.Decoder(m).step(5), len(m.embed('sea').tolist()) == m.dim)")
    done = subprocess.run([sys.executable, "-c", program, tiny], capture_output=True, text=True, timeout=300,
                          cwd=Path(__file__).parents[1])
    assert done.returncode == 0 and done.stdout.endswith("True\n"), done.stderr


def test_embeddings(model, tiny, command):
    texts = ["a small boat", "the wide sea"]
    printed = command("embed", tiny, "-p", texts[0], "-p", texts[1]).splitlines()
    got = model.embed(texts)
    assert got.shape == (2, model.dim)
    for row, line in zip(got, printed):
        assert (row == numpy.array(line.split(), dtype=numpy.float32)).all()
    assert (model.embed(texts[0]) == got[0]).all()
    assert model.embed(texts[0], dimensions=8).shape == (8,)


def test_chat(model, tiny, command):
    wanted = command("run", tiny, "-p", "What can you tell me about the sea?", "--no-think", "-n", 40)
    reply = model.chat("What can you tell me about the sea?", thinking=False, max_tokens=40)
    assert reply.content + "\n" == wanted and str(reply) == reply.content
    answer = model.chat("What can you tell me about the sea?", thinking=False, max_tokens=40, stream=True)
    assert "".join(delta.get("content", "") for delta in answer) == reply.content
    again = answer.reply()
    assert again._replace(usage=reply.usage) == reply
    assert again.usage._replace(cached=0) == reply.usage._replace(cached=0)
    assert reply.finish_reason in ("stop", "length") and reply.usage.generated <= 40
    assert reply.message == {"role": "assistant", "content": reply.content}


def test_grammar_and_schema(model, tiny, command, tmp_path):
    schema = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 12},
                                               "age": {"type": "integer", "minimum": 0, "maximum": 99}},
              "required": ["name", "age"], "additionalProperties": False}
    grammar = 'root ::= ("yes" | "no") " sir"'
    (tmp_path / "s.json").write_text(json.dumps(schema))
    (tmp_path / "g.gbnf").write_text(grammar)
    wanted = command("run", tiny, "-p", "A person: ", "--json-schema", tmp_path / "s.json", "-n", 80)
    for given in (schema, json.dumps(schema)):
        assert model.generate("A person: ", json_schema=given, max_tokens=80) + "\n" == wanted
    assert set(json.loads(wanted)) == {"name", "age"}
    with model.session() as session:
        assert session.generate("A person: ", json_schema=schema, max_tokens=80) + "\n" == wanted
    assert model.generate("Well, ", grammar=grammar) + "\n" == command("run", tiny, "-p", "Well, ", "--grammar",
                                                                       tmp_path / "g.gbnf")
    person = json.loads(model.chat("Name a person.", json_schema=schema, max_tokens=80).content)
    assert set(person) == {"name", "age"}


def test_module_is_the_command(tiny, command):
    done = subprocess.run([sys.executable, "-m", "cke", "tokenize", tiny, "-p", "Once"], capture_output=True,
                          text=True, cwd=Path(__file__).parents[1])
    assert done.stdout == command("tokenize", tiny, "-p", "Once")
