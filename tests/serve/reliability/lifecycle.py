# SPDX-License-Identifier: MIT
"""lifecycle.py: rows about how a server begins, ends, and lives with little."""
import asyncio
import resource
import signal
import time
from pathlib import Path

from load import COMPLETIONS, endless, free
from wire import ask, connect, request_bytes, until


async def ending(setup) -> str:
    """A signal under load: what runs may end, what comes is refused, and the exit status is 0."""
    report = []
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        async with setup.serving("--parallel", "4", ends=True) as server:
            wires = [await connect(server.port) for _ in range(12)]
            idle = await connect(server.port)
            await idle.send(request_bytes("GET", "/health"))
            await idle.answer()
            for i, wire in enumerate(wires):
                await wire.send(request_bytes("POST", COMPLETIONS, endless(1500, stream=i % 2 == 0)))
            await until(lambda: running(server, 4))
            begun = time.monotonic()
            server.process.send_signal(getattr(signal, name))
            assert await idle.rest() == b"", "an idle connection stays"
            late = await ask(server.port, "POST", COMPLETIONS, endless(1))
            health = await ask(server.port, "GET", "/health")
            assert late.status == 503 and health.status == 503, (late.status, health.status)
            answers = [await wire.answer() for wire in wires]
            assert all(a.status == 200 for a in answers) and len({a.text() for a in answers}) == 1, "an answer was lost"
            status = await asyncio.to_thread(server.process.wait, 30)
            assert status == 0, f"{name}: exit {status}"
            report.append(f"{name} {time.monotonic() - begun:.1f} s")
    async with setup.serving("--drain", "1", "-c", "65536", ends=True) as server:
        wire = await connect(server.port)
        await wire.send(request_bytes("POST", COMPLETIONS, endless(60000)))
        await until(lambda: running(server, 1))
        begun = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        status = await asyncio.to_thread(server.process.wait, 20)
        late = time.monotonic() - begun
        assert status == 0 and late < 8 and b"[DONE]" not in await wire.rest(), (status, late)
    async with setup.serving("-c", "65536", ends=True) as server:
        wire = await connect(server.port)
        await wire.send(request_bytes("POST", COMPLETIONS, endless(60000)))
        await until(lambda: running(server, 1))
        begun = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        await asyncio.sleep(0.2)
        server.process.send_signal(signal.SIGTERM)
        status = await asyncio.to_thread(server.process.wait, 20)
        assert status == 0 and time.monotonic() - begun < 8, (status, time.monotonic() - begun)
    return f"12 answers under way each time, 0 lost, new ones 503, exit 0 ({', '.join(report)}); --drain 1: cut off after {late:.1f} s; a second signal does not wait"


async def running(server, count: int) -> bool:
    """Asked by its threads' work, so that a server that ends may be asked too."""
    return (await server.figure("requests_processing")) >= count


async def double_start(setup) -> str:
    """A port that is taken."""
    async with setup.serving() as server:
        status, said = setup.attempt("--port", str(server.port))
        assert status == 1 and "an address that is free" in said and str(server.port) in said, (status, said)
        assert (await ask(server.port, "GET", "/health")).status == 200
    async with setup.serving("--port", str(server.port)) as again:  # what the first left in TIME_WAIT is no reason to wait
        assert (await ask(again.port, "GET", "/health")).status == 200
    return f"refused: {said.strip().splitlines()[-1]}; the first goes on; its port is free as soon as it has ended"


async def few_files(setup) -> str:
    """64 files at most, and 200 clients that want some."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    async with setup.serving(before=limit) as server:
        first = await connect(server.port)
        wires = [await connect(server.port) for _ in range(200)]  # the kernel's backlog takes them
        await asyncio.sleep(0.5)
        spent, begun = cpu_seconds(server.process.pid), time.monotonic()
        for _ in range(20):
            await first.send(request_bytes("POST", COMPLETIONS, {"prompt": "The sea", "max_tokens": 4}))
            assert (await first.answer()).status == 200
        await asyncio.sleep(1)
        load = (cpu_seconds(server.process.pid) - spent) / (time.monotonic() - begun)
        assert server.files() <= 64 and load < 0.5, (server.files(), load)
        for wire in wires:
            wire.close()
        first.close()
        took = await until(lambda: free(server))
        assert (await ask(server.port, "POST", COMPLETIONS, {"prompt": "The sea", "max_tokens": 4})).status == 200
        return f"who was connected is served; {100 * load:.0f} % of a core meanwhile; new ones are taken {took:.1f} s after the others left"


def cpu_seconds(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / 100
