# SPDX-License-Identifier: MIT
"""The reply to a conversation."""
from __future__ import annotations

from typing import Any, AsyncIterator, Dict, Generator, Iterator, List, NamedTuple

from .answer import Events, Usage


class Reply(NamedTuple):
    """content: the text. thought: what a model that thinks wrote before it. tool_calls: as OpenAI's interface has them,
    {"id", "type", "function": {"name", "arguments"}} each. finish_reason: "stop", "length", "tool_calls", or
    "cancelled"."""

    content: str
    thought: str
    tool_calls: List[Dict[str, Any]]
    finish_reason: str
    usage: Usage

    def __str__(self) -> str:
        return self.content

    @property
    def message(self) -> Dict[str, Any]:
        """The message that continues the conversation."""
        message: Dict[str, Any] = {"role": "assistant", "content": self.content}
        if self.thought:
            message["reasoning_content"] = self.thought
        if self.tool_calls:
            message["tool_calls"] = self.tool_calls
        return message


class ChatAnswer:
    """A reply that is being generated: `for delta in answer` or `async for` yields what each event adds, such as
    {"content": "..."}; reply() or `await answer` has all of it."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._content: List[str] = []
        self._thought: List[str] = []
        self._calls: List[Dict[str, Any]] = []
        self._finish = "cancelled"
        self._usage = Usage(0, 0, 0)

    def _take(self, event: Dict[str, Any]) -> Dict[str, Any]:
        use = event.get("usage")
        if use:
            self._usage = Usage(use["prompt_tokens"], use["prompt_tokens_details"]["cached_tokens"],
                                use["completion_tokens"])
        if not event["choices"]:
            return {}
        choice = event["choices"][0]
        self._finish = choice["finish_reason"] or self._finish
        delta: Dict[str, Any] = choice["delta"]
        self._content.append(delta.get("content") or "")
        self._thought.append(delta.get("reasoning_content") or "")
        for call in delta.get("tool_calls", ()):
            if "id" in call:
                self._calls.append({"id": call["id"], "type": call["type"], "function": dict(call["function"])})
            else:
                self._calls[call["index"]]["function"]["arguments"] += call["function"]["arguments"]
        return delta

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        for event in self._events:
            delta = self._take(event)
            if delta:
                yield delta

    async def __aiter__(self) -> AsyncIterator[Dict[str, Any]]:
        async for event in self._events:
            delta = self._take(event)
            if delta:
                yield delta

    def reply(self) -> Reply:
        """Waits for all that is left."""
        for _ in self:
            pass
        return self._reply()

    def __await__(self) -> Generator[Any, None, Reply]:
        return self._all().__await__()

    async def _all(self) -> Reply:
        async for _ in self:
            pass
        return self._reply()

    def _reply(self) -> Reply:
        return Reply("".join(self._content), "".join(self._thought), self._calls, self._finish, self._usage)

    def cancel(self) -> None:
        """Ends the reply at its next token, from any thread."""
        self._events.cancel()

    def close(self) -> None:
        """Ends the reply, and frees it."""
        self._events.close()

    def __enter__(self) -> ChatAnswer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
