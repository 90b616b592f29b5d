# SPDX-License-Identifier: MIT
"""load.py: rows about many clients at once, and about those that are slow, gone, or ask for too much."""
import asyncio
import contextlib
import random
import time

from wire import Wire, ask, connect, percentile, request_bytes, until

WORDS = "once upon a time the sea moon ball kite dog girl rain river house happy said went tell about red blue big small".split()
COMPLETIONS = "/v1/completions"


def completion(rng: random.Random, tokens: int = 24) -> dict:
    return {"prompt": " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 60))), "max_tokens": rng.randint(1, tokens), "seed": rng.randrange(1000),
            "temperature": rng.choice([0, 0.8, 1.5]), "ignore_eos": True, "stream": rng.random() < 0.5}


def endless(tokens: int, stream: bool = True) -> dict:
    return {"prompt": "Once upon a time", "max_tokens": tokens, "ignore_eos": True, "temperature": 0, "stream": stream}


async def alone(setup, requests: list[dict]) -> list[str]:
    """What each is answered with nothing beside it."""
    async with setup.serving("--parallel", "1") as server:
        return [(await ask(server.port, "POST", COMPLETIONS, r)).text() for r in requests]


async def free(server) -> bool:
    return (await server.figure("requests_processing")) == 0 and (await server.figure("requests_deferred")) == 0


async def concurrency(setup) -> str:
    """1, 8, 64, 256 clients, 50 requests each: none lost, none different, all served alike."""
    rng = random.Random(1)
    some = [completion(rng) for _ in range(64)]
    wanted = await alone(setup, some)
    report = []
    for clients in (1, 8, 64, 256):
        each = setup.count(50, 10)
        async with setup.serving("--parallel", "8", "--queue", "256") as server:
            served, at_half, seconds = [0] * clients, [], []

            async def client(c: int) -> None:
                order = [random.Random(c * 1000 + k).randrange(len(some)) for k in range(each)]
                wire = await connect(server.port)
                for i in order:
                    begun = time.monotonic()
                    await wire.send(request_bytes("POST", COMPLETIONS, some[i]))
                    answer = await wire.answer(begun)
                    assert answer.status == 200, (answer.status, answer.body[:300])
                    assert answer.text() == wanted[i], f"request {i} has another answer"
                    served[c] += 1
                    seconds.append(answer.seconds)
                    if len(seconds) == clients * each // 2:
                        at_half.extend(served)
                wire.close()

            begun = time.monotonic()
            await asyncio.gather(*map(client, range(clients)))
            took = time.monotonic() - begun
            fair = max(at_half) / max(1, min(at_half))
            assert each < 50 or clients <= 8 or fair <= 1.2, f"{clients} clients: the luckiest client got {fair:.2f} times what the unluckiest got"
            waits = f", most to least served {fair:.2f}" if clients > 8 else ""  # else nobody waits for anybody
            report.append(f"{clients} clients {clients * each / took:.0f} requests/s, p99 {1000 * percentile(seconds, 0.99):.0f} ms{waits}")
    return f"0 lost, 0 other bytes; {'; '.join(report)}"


async def queue_full(setup) -> str:
    """4 slots, 16 places, 200 at once: refused at once, the others served."""
    async with setup.serving("--parallel", "4", "--queue", "16") as server:
        wires = [await connect(server.port) for _ in range(200)]
        before = server.resident()

        async def one(wire: Wire):
            begun = time.monotonic()
            await wire.send(request_bytes("POST", COMPLETIONS, endless(1000, stream=False)))
            return await wire.answer(begun)

        answers = await asyncio.gather(*map(one, wires))
        for wire in wires:
            wire.close()
        refused = [a for a in answers if a.status == 429]
        assert all(a.status in (200, 429) for a in answers) and len(refused) == 180, sorted(a.status for a in answers)
        assert all(a.headers["retry-after"] == "1" and a.json()["error"]["code"] == "queue_full" for a in refused)
        assert len({a.text() for a in answers if a.status == 200}) == 1
        # What one refusal takes, with everything full; above, 200 of them wait for one core.
        fill = [await connect(server.port) for _ in range(20)]
        for wire in fill:
            await wire.send(request_bytes("POST", COMPLETIONS, endless(1900)))
        await until(lambda: full(server))
        single = [(await ask(server.port, "POST", COMPLETIONS, endless(1))) for _ in range(20)]
        assert all(a.status == 429 for a in single), "the queue is not full"
        for wire in fill:
            wire.close()
        await until(lambda: free(server))
        slowest = max(a.seconds for a in single)
        assert slowest <= 0.05 or setup.quick, f"a refusal took {slowest} s"
        grown = (server.resident() - before) / 2**20
        assert grown < 64
        return (f"20 answered, 180 refused with 429 and Retry-After, p99 {1000 * percentile([a.seconds for a in refused], 0.99):.0f} ms; one by one at most "
                f"{1000 * slowest:.1f} ms; resident memory +{grown:.1f} MiB")


async def full(server) -> bool:
    return (await server.figure("requests_deferred")) == 16


OPENINGS = {
    "header": b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: ",
    "body": b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{",
}


async def slow(setup) -> str:
    """900 connections with slow headers, slow bodies, slow reading: others notice nothing, and they end."""
    seconds = setup.count(60, 20)
    async with setup.serving("--parallel", "4") as server:
        async def normal(until_then: float) -> list[float]:
            times = []
            while time.monotonic() < until_then:
                answer = await ask(server.port, "POST", COMPLETIONS, {"prompt": "The sea", "max_tokens": 4, "temperature": 0})
                assert answer.status == 200, answer.body
                times.append(answer.seconds)
                await asyncio.sleep(0.01)
            return times

        baseline = await normal(time.monotonic() + setup.count(10, 4))
        begun, before, most, readers_gone = time.monotonic(), server.files(), 0, 0.0
        ends = begun + seconds
        lives: dict[str, list[float]] = {"header": [], "body": []}

        async def sender(kind: str) -> None:
            await asyncio.sleep(5 * random.random())
            while time.monotonic() < ends:
                begun, wire = time.monotonic(), await connect(server.port)
                with contextlib.suppress(ConnectionError):
                    await wire.send(OPENINGS[kind])
                    while time.monotonic() < ends and not wire.reader.at_eof():
                        await asyncio.sleep(1 + random.random())
                        await wire.send(b"x")
                wire.close(reset=True)
                if time.monotonic() < ends:
                    lives[kind].append(time.monotonic() - begun)

        async def reader() -> None:
            """Asks for more than the systems between the two keep, and hardly reads. Cannot see that it is given up."""
            await asyncio.sleep(5 * random.random())
            wire = await connect(server.port, 2048)
            wire.writer.write(request_bytes("GET", "/openapi.json") * 60)
            while time.monotonic() < ends:
                await asyncio.sleep(2)
                await wire.reader.read(16)
            wire.close(reset=True)

        slow_ones = [asyncio.create_task(c) for _ in range(300) for c in (sender("header"), sender("body"), reader())]
        await asyncio.sleep(6)
        meanwhile = asyncio.create_task(normal(ends - 0.5))
        while time.monotonic() < ends - 0.5:
            files = server.files()
            most = max(most, files)
            if files < before + 620 and not readers_gone:
                readers_gone = time.monotonic() - begun
            await asyncio.sleep(0.2)
        beside = await meanwhile
        await asyncio.gather(*slow_ones)
        ratio = percentile(beside, 0.99) / percentile(baseline, 0.99)
        assert most <= before + 910, f"{most} open files"
        assert ratio <= 2 or setup.quick, f"p99 {ratio:.2f} times that without slow clients"
        assert max(lives["header"]) < 13 and (setup.quick or max(lives["body"]) < 34 and 0 < readers_gone < 40), (lives, readers_gone)
        await until(lambda: gone(server))
        return (f"{len(beside)} requests beside 900 slow connections for {seconds} s: p99 {1000 * percentile(beside, 0.99):.1f} ms, alone {1000 * percentile(baseline, 0.99):.1f} ms (x {ratio:.2f}), "
                f"median x {percentile(beside, 0.5) / percentile(baseline, 0.5):.2f}; slow headers were closed after at most {max(lives['header']):.1f} s, slow bodies after {max(lives['body'], default=0):.1f} s, "
                f"all slow readers {readers_gone:.0f} s after the first; at most {most} files, afterwards {server.files()}")


async def gone(server) -> bool:
    return (await server.figure("connections")) == 1  # the one that asks


async def disconnect(setup) -> str:
    """500 clients cut at random, with FIN or RST, before, in the prompt, in the answer, in the queue: their slots are free at once."""
    rng = random.Random(2)
    witness = completion(rng, 400) | {"max_tokens": 400, "stream": True}
    (wanted,) = await alone(setup, [witness])
    async with setup.serving("--parallel", "4", "--queue", "600") as server:
        times = []
        for i in range(setup.count(100, 20)):  # one at a time: how long until its slot is free
            wire = await connect(server.port)
            long = {"prompt": "sea " * 1200} if i % 4 == 1 else {}
            await wire.send(request_bytes("POST", COMPLETIONS, endless(700, stream=i % 2 == 0) | long))
            await until(lambda: busy(server))
            wire.close(reset=i % 4 > 1)
            times.append(await until(lambda: free(server)))
        watching = [await connect(server.port) for _ in range(2)]
        witnesses = 0

        async def watch(wire: Wire, end: asyncio.Event) -> None:
            nonlocal witnesses
            while not end.is_set():
                await wire.send(request_bytes("POST", COMPLETIONS, witness))
                assert (await wire.answer()).text() == wanted, "a neighbour that went away changed an answer"
                witnesses += 1

        async def cut(c: int) -> None:
            rng = random.Random(c)
            await asyncio.sleep(rng.random() * 3)
            wire = await connect(server.port)
            data = request_bytes("POST", COMPLETIONS, endless(rng.randint(100, 1900), stream=c % 2 == 0) | ({"prompt": "sea " * 700} if c % 3 == 0 else {}))
            await wire.send(data[:rng.randrange(len(data))] if c % 10 == 0 else data)
            await asyncio.sleep(rng.random() / 5)
            if c % 4 == 1:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(wire.reader.read(rng.randint(1, 4000)), 1)
            wire.close(reset=rng.random() < 0.5)

        end = asyncio.Event()
        watchers = [asyncio.create_task(watch(w, end)) for w in watching]
        cuts = setup.count(500, 60)
        await asyncio.gather(*map(cut, range(cuts)))
        end.set()
        await asyncio.gather(*watchers)
        for wire in watching:
            wire.close()
        rest = await until(lambda: free(server), 5)
        assert percentile(times, 0.99) <= 0.1 or setup.quick, f"p99 {percentile(times, 0.99)} s until a slot is free"
        return (f"{len(times)} one by one: slot free after {1000 * percentile(times, 0.5):.1f} ms (median), {1000 * percentile(times, 0.99):.1f} ms (p99); {cuts} at once: all free "
                f"{1000 * rest:.0f} ms after the last; {witnesses} answers beside them, 0 other bytes")


async def busy(server) -> bool:
    return (await server.figure("requests_processing")) > 0


async def stalled(setup) -> str:
    """A client that asks for a long answer and stops reading: bounded, then cancelled."""
    async with setup.serving("--parallel", "4", "-c", "65536", "--chunk", "64") as server:
        await ask(server.port, "POST", COMPLETIONS, endless(4))
        wires = [await connect(server.port, 4096) for _ in range(2)]
        before, begun, others = server.resident(), time.monotonic(), []
        for wire in wires:
            await wire.send(request_bytes("POST", COMPLETIONS, endless(60000) | {"logprobs": 20}))
        await until(lambda: busy(server))
        while await busy(server):
            others.append((await ask(server.port, "POST", COMPLETIONS, {"prompt": "The sea", "max_tokens": 8, "temperature": 0})))
            assert time.monotonic() - begun < 120, "they still run"
            await asyncio.sleep(0.02)
        took, grown = time.monotonic() - begun, (server.resident() - before) / 2**20
        assert all(a.status == 200 for a in others) and len({a.text() for a in others}) == 1
        assert await server.figure("requests_cancelled_total") == 2, "they were not cancelled"
        made = await server.figure("tokens_predicted_total") - 4 - 8 * len(others)
        for wire in wires:
            wire.close()
        facts = (await ask(server.port, "GET", "/facts")).json()
        caches = made * facts["memory"]["slot"] / facts["context"] / 2**20
        assert grown <= caches + 16, f"{grown} MiB more, of which caches {caches}"
        return f"2 of them, given up after {took:.1f} s and {made:.0f} tokens; resident memory +{grown:.1f} MiB, of which their caches {caches:.1f}; {len(others)} short answers meanwhile, all alike"


async def huge(setup) -> str:
    """One token too many, and bodies that are far too much: refused within a second, without memory for them."""
    async with setup.serving("-c", "2048") as server:
        most = {"prompt": [1] * 2048, "max_tokens": 1, "ignore_eos": True}
        assert (await ask(server.port, "POST", COMPLETIONS, most)).status == 200
        server.reset_peak()
        before, slowest, peaks = server.resident(), 0.0, []
        message = b'{"role":"user","content":"x"},'
        for name, body, wanted, megabytes in (
            ("context + 1", b'{"prompt":[' + b"1," * 2048 + b'1],"max_tokens":1}', 400, 64),
            ("1 MB", b'{"prompt":"' + b"sea " * 250_000 + b'"}', 400, 64),
            ("100 MB", b'{"prompt":"' + b"x" * 100_000_000 + b'"}', 413, 64),
            ("10^6 messages", b'{"messages":[' + message * 999_999 + message[:-1] + b"]}", 413, 64),
            ("130,000 messages", b'{"messages":[' + message * 129_999 + message[:-1] + b"]}", 400, 64),
            ("depth 100,000", b'{"prompt":' + b"[" * 100_000 + b"]" * 100_000 + b"}", 400, 64),
            ("1,000,000 values", b'{"prompt":[' + b"1," * 999_999 + b"1]}", 400, 64),
            ("300,000 keys", b"{" + b",".join(b'"%x":1' % i for i in range(300_000)) + b"}", 400, 64),
            ("a word of 4 MiB", b'{"prompt":"' + b"x" * (4194304 - 20) + b'"}', 400, 200),  # BPE takes up to 24 bytes for a letter of a word
        ):
            path = "/v1/chat/completions" if b"messages" in body[:12] else COMPLETIONS
            begun = time.monotonic()
            wire = await connect(server.port)
            sending = asyncio.create_task(wire.send(request_bytes("POST", path, body)))
            answer = await wire.answer(begun)
            with contextlib.suppress(ConnectionError):
                await sending
            wire.close()
            peaks.append((server.peak() - before) / 2**20)
            assert answer.status == wanted, (name, answer.status, answer.body[:200])
            assert peaks[-1] <= megabytes, f"{name}: {peaks[-1]} MiB more at the peak"
            slowest = max(slowest, answer.seconds)
            assert answer.seconds <= 1 or setup.quick, f"{name}: {answer.seconds} s"
        assert (await ask(server.port, "GET", "/health")).status == 200
        return f"9 of 9 refused as 400 or 413, the slowest after {1000 * slowest:.0f} ms; peak of resident memory +{peaks[-2]:.1f} MiB, for a word of 4 MiB +{peaks[-1]:.1f}"


async def overflow(setup) -> str:
    """Answers that reach the context, eight of them at once: finish_reason length, and their own bytes."""
    requests = [endless(1000, stream=i % 2 == 0) | {"prompt": "sea " * (20 * i + 1), "temperature": 1, "seed": i} for i in range(8)]
    async with setup.serving("--parallel", "1", "-c", "512") as server:
        wanted = [(await ask(server.port, "POST", COMPLETIONS, r)).text() for r in requests]
    async with setup.serving("--parallel", "8", "-c", "512") as server:
        before = server.resident()
        answers = await asyncio.gather(*(ask(server.port, "POST", COMPLETIONS, r) for r in requests * 5))
        for i, a in enumerate(answers):
            assert a.text() == wanted[i % 8], "other bytes"
            last = a.events()[-1] if i % 2 == 0 else a.json()
            assert last["choices"][0]["finish_reason"] == "length"
        usage = answers[1].json()["usage"]
        assert usage["total_tokens"] == 512 or usage["total_tokens"] == 513, usage
        return f"40 answers in 8 slots of 512 positions, {usage['total_tokens']} tokens each: length, 0 other bytes; resident memory +{(server.resident() - before) / 2**20:.1f} MiB"
