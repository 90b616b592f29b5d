# SPDX-License-Identifier: MIT
"""Answers that are under way: texts, and events of the server's interface."""
from __future__ import annotations

import ctypes
import json
from typing import TYPE_CHECKING, Any, Dict, Generator, Iterator, NamedTuple, Optional, Tuple, TypeVar

from ._library import END, ENDINGS, FAILED, PART, WAITING, CEnding, CError, Handle, library, raise_error
from .errors import UsageError

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T", bound="Parts")

_PATIENCE_MS = 200  # after which Python looks for signals such as Ctrl-C


class Usage(NamedTuple):
    """Numbers of ids; `cached` are those of the prompt that were not computed again."""

    prompt: int
    cached: int
    generated: int


class Parts:
    """The parts of an answer, as bytes. Leaving it early cancels what is left."""

    def __init__(self, pointer: Optional[int], error: CError) -> None:
        if not pointer:
            raise_error(error)
        assert pointer
        self._handle = Handle(pointer, library().answer_free, "answer")
        self._error = CError()
        self._part = ctypes.c_void_p()
        self._size = ctypes.c_size_t()
        self._ending = CEnding()
        self._over = False

    def _poll(self, wait_ms: int) -> Tuple[int, bytes]:
        """The next part, if it comes in that time."""
        if self._over:
            return END, b""
        data = b""
        with self._handle as pointer:
            what = library().answer_next(pointer, wait_ms, self._part, self._size, self._error)
            if what == PART:
                data = ctypes.string_at(self._part.value or 0, self._size.value) if self._size.value else b""
            elif what != WAITING:
                self._ending = library().answer_end(pointer)
        if what == FAILED:
            self.close()
            raise_error(self._error)
        if what == END:
            self.close()
        return what, data

    def _next(self) -> Optional[bytes]:
        """The next part; None: there are no more."""
        try:
            what, data = self._poll(_PATIENCE_MS)
            while what == WAITING:
                what, data = self._poll(_PATIENCE_MS)
        except BaseException:
            self.close()  # Ctrl-C too
            raise
        return data if what == PART else None

    async def _anext(self) -> Optional[bytes]:
        import asyncio

        if self._over:
            return None
        loop = asyncio.get_running_loop()
        with self._handle as pointer:
            fd = library().answer_fd(pointer, self._error)
        try:
            if fd < 0:  # computed by whoever asks for the next part
                return await loop.run_in_executor(None, self._next)
            while True:
                what, data = self._poll(0)
                if what != WAITING:
                    return data if what == PART else None
                with self._handle:  # the descriptor lives as long as the answer
                    await _readable(loop, fd)
        except BaseException:
            self.cancel()
            raise

    def cancel(self) -> None:
        """Ends the answer at its next token, from any thread. What came before can still be read."""
        try:
            with self._handle as pointer:
                library().answer_cancel(pointer)
        except UsageError:
            pass  # it has ended

    def close(self) -> None:
        """Ends the answer, and frees it."""
        if not self._over:
            self._over = True
            self.cancel()
            self._handle.close()

    def __enter__(self: T) -> T:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


async def _readable(loop: asyncio.AbstractEventLoop, fd: int) -> None:
    ready = loop.create_future()

    def arrived() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(fd, arrived)
    try:
        await ready
    finally:
        loop.remove_reader(fd)


class Answer(Parts):
    """A text that is being generated: `for piece in answer`, `async for piece in answer`, or `await answer` for all of
    it. Once it has ended, finish_reason and usage say how."""

    @property
    def finish_reason(self) -> Optional[str]:
        """"stop", "length" or "cancelled"; None before the end."""
        return ENDINGS.get(self._ending.why)

    @property
    def usage(self) -> Usage:
        return Usage(self._ending.prompt, self._ending.cached, self._ending.generated)

    def text(self) -> str:
        """All that is left."""
        return "".join(self)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        part = self._next()
        if part is None:
            raise StopIteration
        return part.decode("utf-8", "replace")

    def __aiter__(self) -> Answer:
        return self

    async def __anext__(self) -> str:
        part = await self._anext()
        if part is None:
            raise StopAsyncIteration
        return part.decode("utf-8", "replace")

    def __await__(self) -> Generator[Any, None, str]:
        return self._all().__await__()

    async def _all(self) -> str:
        return "".join([piece async for piece in self])


class Events(Parts):
    """The events of a streamed reply, as OpenAI's interface has them: `for` or `async for`."""

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        return self

    def __next__(self) -> Dict[str, Any]:
        part = self._next()
        if part is None:
            raise StopIteration
        event: Dict[str, Any] = json.loads(part)
        return event

    def __aiter__(self) -> Events:
        return self

    async def __anext__(self) -> Dict[str, Any]:
        part = await self._anext()
        if part is None:
            raise StopAsyncIteration
        event: Dict[str, Any] = json.loads(part)
        return event
