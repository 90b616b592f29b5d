# SPDX-License-Identifier: MIT
"""wire.py: HTTP/1.1 of one's own over asyncio: what a row needs to be many clients at once, and impolite ones."""
import asyncio
import contextlib
import json
import socket
import struct
import time
from dataclasses import dataclass


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes
    seconds: float

    def json(self):
        return json.loads(self.body)

    def events(self) -> list[dict]:
        """Those of a stream that came to its end."""
        parts = self.body.decode().split("\n\n")
        assert parts[-2:] == ["data: [DONE]", ""], parts[-3:]
        return [json.loads(p.removeprefix("data: ")) for p in parts[:-2]]

    def text(self) -> str:
        """What a completion of one choice says, streamed or not."""
        if self.headers["content-type"].startswith("text/event-stream"):
            return "".join(c["text"] for e in self.events() for c in e["choices"])
        return self.json()["choices"][0]["text"]


def request_bytes(method: str, path: str, body=None, headers: dict[str, str] | None = None) -> bytes:
    data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    fields = {"Host": "localhost"} | ({"Content-Type": "application/json", "Content-Length": str(len(data))} if body is not None else {}) | (headers or {})
    return f"{method} {path} HTTP/1.1\r\n".encode() + "".join(f"{k}: {v}\r\n" for k, v in fields.items()).encode("latin-1") + b"\r\n" + data


class Wire:
    """A connection."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def line(self) -> bytes:
        return (await self.reader.readuntil(b"\r\n"))[:-2]

    async def answer(self, begun: float | None = None) -> Answer:
        """The next one. Throws asyncio.IncompleteReadError where the server closes before its end."""
        begun = begun or time.monotonic()
        status, headers = int((await self.line()).split()[1]), {}
        while line := await self.line():
            name, value = line.decode("latin-1").split(":", 1)
            headers[name.lower()] = value.strip()
        if headers.get("transfer-encoding") == "chunked":
            body = b""
            while size := int(await self.line(), 16):
                body += await self.reader.readexactly(size)
                await self.line()
            await self.line()
        else:
            body = await self.reader.readexactly(int(headers.get("content-length", 0)))
        return Answer(status, headers, body, time.monotonic() - begun)

    async def rest(self) -> bytes:
        """Until the server closes, politely or not."""
        with contextlib.suppress(ConnectionError):
            return await self.reader.read()
        return b""

    def close(self, reset: bool = False) -> None:
        """With FIN, or with RST."""
        if reset and not self.writer.is_closing():
            self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.close()


async def connect(port: int, receive_buffer: int = 0) -> Wire:
    s = socket.socket()
    s.setblocking(False)
    if receive_buffer:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    await asyncio.get_running_loop().sock_connect(s, ("127.0.0.1", port))
    return Wire(*await asyncio.open_connection(sock=s, limit=receive_buffer or 2**16))


async def ask(port: int, method: str, path: str, body=None, headers: dict[str, str] | None = None) -> Answer:
    """On a connection of its own, whose opening counts as time."""
    begun = time.monotonic()
    wire = await connect(port)
    try:
        await wire.send(request_bytes(method, path, body, headers))
        return await wire.answer(begun)
    finally:
        wire.close()


async def raw(port: int, data: bytes) -> bytes:
    """All that the server says to these bytes, with nothing after them."""
    wire = await connect(port)
    try:
        with contextlib.suppress(ConnectionError):  # it may have closed in the middle of them
            await wire.send(data)
            wire.writer.write_eof()
        return await wire.rest()
    finally:
        wire.close()


async def until(condition, seconds: float = 20) -> float:
    """How long it took. `condition` is awaited again and again."""
    begun = time.monotonic()
    while not await condition():
        assert time.monotonic() - begun < seconds, "it does not come"
        await asyncio.sleep(0.001)
    return time.monotonic() - begun


def percentile(values, share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
