# SPDX-License-Identifier: MIT
"""One sequence of ids with its caches."""
from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING, Any, Iterable, List, Literal, Sequence, Tuple, Union, overload

from ._arrays import as_array, new_floats
from ._library import CError, CTurn, Handle, Lease, id_array, library, raise_error, taken_ids
from .answer import Answer
from .errors import UsageError
from .options import Options, body_of, json_bytes

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._arrays import FloatArray
    from .model import Model

Tokens = Union[str, Sequence[int]]


class Session:
    """One sequence: ids are fed, logits come out. Of Model.session(). Sessions of a model may be used from different
    threads, each by one at a time."""

    def __init__(self, model: Model, pointer: int, error: CError) -> None:
        if not pointer:
            raise_error(error)
        self.model = model
        self._handle = Handle(pointer, library().session_free, "session")

    def feed(self, tokens: Tokens) -> Session:
        """Appends ids, or those of a text (with the ids that begin one only at the start), and computes them."""
        ids = self._ids(tokens)
        error = CError()
        with self._handle as pointer:
            if library().session_feed(pointer, id_array(ids), len(ids), error):
                raise_error(error)
        return self

    def feed_all(self, tokens: Tokens) -> FloatArray:
        """The same; returns the logits after each id, float32 [ids, vocab_size]."""
        ids = self._ids(tokens)
        width = self.model.vocab_size
        rows = new_floats(len(ids) * width)
        error = CError()
        with self._handle as pointer:
            if library().session_feed_all(pointer, id_array(ids), len(ids), rows, len(rows), error):
                raise_error(error)
        return as_array(rows, (len(ids), width), writable=True)

    @property
    def logits(self) -> FloatArray:
        """The logits after the last id that was fed, float32 [vocab_size]: the session's own memory, which the next feed
        changes. Copy what is to stay."""
        error = CError()
        with self._handle as pointer:
            address = library().session_logits(pointer, error)
            if not address:
                raise_error(error)
            memory: Any = (ctypes.c_float * self.model.vocab_size).from_address(address)
            memory._lease = Lease(self._handle)
        return as_array(memory, (self.model.vocab_size,), writable=False)

    @property
    def position(self) -> int:
        """How many ids the session has."""
        with self._handle as pointer:
            return int(library().session_position(pointer))

    @property
    def ids(self) -> List[int]:
        """The ids so far."""
        error = CError()
        with self._handle as pointer:
            return taken_ids(lambda take: library().session_history(pointer, take, None, error), error)

    def fork(self) -> Session:
        """A session that goes on from here by itself. It shares the caches until they differ."""
        error = CError()
        with self._handle as pointer:
            return Session(self.model, library().session_fork(pointer, error), error)

    def rewind(self, position: int) -> Session:
        """Drops all ids after the first `position`. The next feed begins there; logits are those from before."""
        error = CError()
        if not 0 <= position <= self.position:
            raise UsageError(f"rewind: expected a position from 0 to {self.position}, found {position}", "usage", "",
                             "rewind", f"a position from 0 to {self.position}", str(position))
        with self._handle as pointer:
            if library().session_rewind(pointer, position, error):
                raise_error(error)
        return self

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes a file that load(), and `cke run --load-session`, continue with the same bits."""
        error = CError()
        with self._handle as pointer:
            if library().session_save(pointer, os.fsencode(path), error):
                raise_error(error)

    def load(self, path: Union[str, os.PathLike[str]]) -> Session:
        """Restores a saved session of this model; this one is at position 0 before."""
        error = CError()
        with self._handle as pointer:
            if library().session_load(pointer, os.fsencode(path), error):
                raise_error(error)
        return self

    @overload
    def generate(self, prompt: Tokens = ..., *, stream: Literal[False] = ..., **options: Unpack[Options]) -> str: ...
    @overload
    def generate(self, prompt: Tokens = ..., *, stream: Literal[True], **options: Unpack[Options]) -> Answer: ...
    def generate(self, prompt: Tokens = (), *, stream: bool = False, **options: Unpack[Options]) -> Union[str, Answer]:
        """Feeds the prompt, and continues. Afterwards the session has prompt and answer; if a stream is left before its
        end, the last id may be missing. While it runs, nothing else takes the session."""
        ids = self._ids(prompt)
        body = json_bytes(body_of(options))
        error = CError()
        with self._handle as pointer:
            answer = Answer(library().session_generate(pointer, id_array(ids), len(ids), body, len(body), error), error)
        return answer if stream else answer.text()

    def close(self) -> None:
        """Frees the session, once nobody uses it or its logits any more."""
        self._handle.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ids(self, tokens: Tokens) -> Sequence[int]:
        if isinstance(tokens, str):
            return self.model.tokenize(tokens, add_special=self.position == 0)
        return tokens


def feed_together(turns: Iterable[Tuple[Session, Tokens]]) -> None:
    """Feeds several sessions of one model in one pass over its weights, each its own ids."""
    pairs = [(session, session._ids(tokens)) for session, tokens in turns]
    leases = [Lease(session._handle) for session, _ in pairs]
    arrays: List[Any] = [id_array(ids) for _, ids in pairs]
    list_of = (CTurn * len(pairs))(*[
        CTurn(session._handle._pointer, ctypes.cast(ids, ctypes.POINTER(ctypes.c_uint32)), len(ids))
        for (session, _), ids in zip(pairs, arrays)
    ])
    error = CError()
    if library().sessions_feed(list_of, len(pairs), error):
        raise_error(error)
    del leases
