# SPDX-License-Identifier: MIT
"""Many users of one model: each gets what it gets alone."""
import asyncio
import threading
import time

import pytest

import cke

PROMPTS = [f"{begin} {i}" for i in range(25) for begin in ("Once upon a time", "The sea", "An old man", "I saw")]


def options_of(i):
    return dict(max_tokens=12 + i % 5, temperature=(i % 3) * 0.5, seed=i)


@pytest.fixture(scope="module")
def alone(model):
    return [model.generate(prompt, **options_of(i)) for i, prompt in enumerate(PROMPTS)]


def test_tasks(model, alone):
    async def one(i):
        answer = model.generate(PROMPTS[i], stream=True, **options_of(i))
        if i % 2:
            return await answer
        return "".join([piece async for piece in answer])

    async def all_of():
        return await asyncio.gather(*map(one, range(len(PROMPTS))))

    assert asyncio.run(all_of()) == alone


def test_threads(model, alone):
    got = {}

    def work(first):
        for i in range(first, len(PROMPTS), 16):
            if i % 3 == 0:
                with model.session() as session:
                    got[i] = session.generate(PROMPTS[i], **options_of(i))
            else:
                got[i] = model.generate(PROMPTS[i], **options_of(i))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [got[i] for i in range(len(PROMPTS))] == alone


def test_other_threads_run_meanwhile(model):
    ticks = 0
    done = threading.Event()

    def count():
        nonlocal ticks
        while not done.wait(0.001):
            ticks += 1

    thread = threading.Thread(target=count)
    thread.start()
    begun = time.perf_counter()
    model.session().feed(model.tokenize("Once upon a time ")[:1] * (model.context - 1))
    seconds = time.perf_counter() - begun
    done.set()
    thread.join()
    assert ticks > 5 or seconds < 0.02, (ticks, seconds)


def test_a_task_that_is_cancelled(model):
    async def scenario():
        answer = model.generate("Once", stream=True, max_tokens=1500, ignore_eos=True)

        async def read():
            async for _ in answer:
                pass

        task = asyncio.create_task(read())
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async for _ in answer:
            pass
        return answer

    answer = asyncio.run(scenario())
    assert answer.finish_reason == "cancelled" and answer.usage.generated < 1500


def test_cancel_from_another_thread(model):
    for make in (model.generate, model.session().generate):
        answer = make("Once", stream=True, max_tokens=1500, ignore_eos=True)
        next(answer)
        timer = threading.Timer(0.02, answer.cancel)
        timer.start()
        text = answer.text()
        assert answer.finish_reason == "cancelled" and answer.usage.generated < 1500 and text is not None
        timer.join()


def test_cancel_while_another_thread_ends_the_answer(model, monkeypatch):
    answer = model.generate("Once", stream=True, max_tokens=2)
    assert answer.text()
    monkeypatch.setattr(type(answer._handle), "closed", property(lambda _: False))  # as it was a moment ago
    answer.cancel()


def test_async_sessions_and_chat(model):
    async def scenario():
        session = model.session()
        text = "".join([piece async for piece in session.generate("Once upon a time", stream=True, max_tokens=10)])
        reply = await model.chat("Hello", stream=True, max_tokens=10)
        return text, reply

    text, reply = asyncio.run(scenario())
    assert text == model.generate("Once upon a time", max_tokens=10)
    assert reply._replace(usage=None) == model.chat("Hello", max_tokens=10)._replace(usage=None)


def test_a_model_that_is_closed(tiny):
    model = cke.Model(tiny)
    whole = model.generate("Once", max_tokens=40)
    answer = model.generate("Once", stream=True, max_tokens=40)
    session = model.session().feed("Once")
    first = next(answer)
    model.close()
    assert first + answer.text() == whole  # they keep what they need
    assert session.logits.shape == (model.vocab_size,)
    with pytest.raises(cke.UsageError):
        model.generate("Once")
    with pytest.raises(cke.UsageError):
        model.tokenize("Once")


def test_memory_is_flat(model):
    def resident():
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1]) * 4096

    def some(n):
        for i in range(n):
            model.generate(PROMPTS[i % len(PROMPTS)], max_tokens=6)
            with model.session() as session:
                session.generate("The sea", max_tokens=2)
            with model.generate("Once", stream=True, max_tokens=50) as left:
                next(left)

    some(40)
    before = resident()
    some(60)
    assert resident() - before < 2 << 20
