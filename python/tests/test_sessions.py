# SPDX-License-Identifier: MIT
"""Sessions: forks, rewinds, files, batches, and what is refused."""
import gc

import pytest

import cke

numpy = pytest.importorskip("numpy")


def bits(session):
    return session.logits.tobytes()


def test_fork_and_rewind(model):
    ids = model.tokenize("Once upon a time there was a little fish who lived in the sea")
    alone = model.session().feed(ids)
    session = model.session().feed(ids[:5])
    twin = session.fork()
    assert session.position == twin.position == 5 and twin.ids == ids[:5]
    session.feed(model.tokenize("the dragon", add_special=False))
    twin.feed(ids[5:])
    assert bits(twin) == bits(alone) != bits(session)
    session.rewind(5).feed(ids[5:])
    assert bits(session) == bits(alone) and session.ids == ids


def test_a_rewound_session_goes_on_from_what_is_left(model, tmp_path):
    session = model.session().feed("Once upon a time")
    position = session.position
    want = session.fork().generate(max_tokens=8)
    session.feed(" there was")
    before = int(session.logits.argmax())
    session.rewind(position)
    twin = session.fork()
    session.save(tmp_path / "rewound.session")
    loaded = model.session().load(tmp_path / "rewound.session")
    assert [s.generate(max_tokens=8) for s in (session, twin, loaded)] == [want] * 3
    assert session.ids[position] != before  # else this shows nothing
    assert loaded.ids == twin.ids == session.ids
    with pytest.raises(cke.UsageError) as refused:
        session.rewind(0).generate(max_tokens=8)
    assert refused.value.subject == "prompt"


def test_feed_all(model):
    ids = model.tokenize("Once upon a time there was")
    rows = model.session().feed_all(ids)
    assert rows.tobytes() == model.logits(ids).tobytes()
    for i in range(1, len(ids) + 1):
        assert model.session().feed(ids[:i]).logits.tobytes() == rows[i - 1].tobytes()


def test_files(model, tiny, command, tmp_path):
    path = tmp_path / "a.session"
    session = model.session()
    first = session.generate("Once upon a time", max_tokens=20)
    session.save(path)
    ids = session.ids
    assert ids == model.tokenize("Once upon a time") + ids[-20:]
    again = model.session().load(path)
    assert again.ids == ids
    more = again.generate(" and", max_tokens=20)
    assert more + "\n" == command("run", tiny, "--load-session", path, "-p", " and", "-n", 20)
    assert session.generate(" and", max_tokens=20) == more
    whole = model.generate(model.tokenize("Once upon a time") + ids[-20:], max_tokens=5)
    assert first and whole
    with pytest.raises(cke.Error) as refused:
        again.load(path)
    assert "position" in str(refused.value)
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(cke.FileError) as damaged:
        model.session().load(path)
    assert damaged.value.file == str(path)


def test_batch(model):
    texts = ["Once upon a time", "The sea", "A very old man went", "I", "Two birds sat on a tree and"] * 3
    alone = [model.session().feed(text) for text in texts]
    sessions = [model.session() for _ in texts]
    model.feed(zip(sessions, texts))
    assert [bits(s) for s in sessions] == [bits(s) for s in alone]
    for _ in range(5):
        turns = [(s, [int(s.logits.argmax())]) for s in sessions]
        model.feed(turns)
        for s, (_, ids) in zip(alone, turns):
            s.feed(ids)
    assert [bits(s) for s in sessions] == [bits(s) for s in alone]
    with pytest.raises(cke.Error):
        model.feed([(sessions[0], [1]), (sessions[1], [model.vocab_size])])
    assert sessions[0].position == alone[0].position
    with pytest.raises(cke.UsageError):
        model.feed([(sessions[0], [1]), (sessions[0], [2])])


def test_logits_are_the_sessions_memory(model):
    session = model.session().feed("The sea")
    view = session.logits
    assert not view.flags.writeable and not view.flags.owndata
    before = view.copy()
    session.feed(" is")
    assert (view != before).any()
    kept = view.copy()
    session.close()
    del session
    gc.collect()
    assert (view == kept).all()  # the memory stays as long as the view


def test_a_generation_holds_its_session(model):
    session = model.session()
    answer = session.generate("Once", stream=True, max_tokens=10)
    next(answer)
    for call in (lambda: session.feed([1]), lambda: session.fork(), lambda: session.logits, lambda: session.rewind(0),
                 lambda: session.generate("x")):
        with pytest.raises(cke.UsageError) as refused:
            call()
        assert refused.value.subject == "session"
    rest = answer.text()
    assert rest and answer.finish_reason == "length" and answer.usage.generated == 10
    assert session.position == len(model.tokenize("Once")) + 10
    other = model.session()
    with other.generate("Once", stream=True) as left:
        next(left)
    assert other.feed(" upon").position > 0


def test_refusals(model):
    session = model.session().feed("The sea")
    position, before = session.position, bits(session)
    for call, code in ((lambda: session.feed([model.vocab_size]), "token_range"), (lambda: session.feed([-1]), "token_range"),
                       (lambda: session.feed([2**40]), "token_range"), (lambda: session.feed(["a"]), "usage"),
                       (lambda: session.rewind(position + 1), "usage"), (lambda: session.rewind(-1), "usage"),
                       (lambda: session.feed([1] * (model.context + 1)), "context_overflow"),
                       (lambda: session.load("/nonexistent"), None)):
        with pytest.raises(cke.Error) as refused:
            call()
        assert code is None or refused.value.code == code, refused.value
        assert session.position == position and bits(session) == before
    with pytest.raises(cke.UsageError):
        model.session().logits
    with pytest.raises(cke.UsageError):
        model.session().generate("")
    with pytest.raises(cke.UsageError):
        session.generate("a", stop=[""])
    session.close()
    with pytest.raises(cke.UsageError):
        session.feed([1])


def test_decoder(model):
    decoder = cke.Decoder(model)
    text = decoder.generate("Once upon a time", max_tokens=12)
    assert text == model.generate("Once upon a time", max_tokens=12)
    decoder.reset()
    assert decoder.position == 0
    ids = model.tokenize("Once upon a time")
    for token in ids:
        following = decoder.step(token)
    answer = []
    while len(answer) < 12:
        answer.append(following)
        following = decoder.step(following)
    assert model.detokenize(ids + answer) == model.detokenize(ids) + text
