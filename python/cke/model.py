# SPDX-License-Identifier: MIT
"""A checkpoint that is open."""
from __future__ import annotations

import base64
import json
import os
from typing import (TYPE_CHECKING, Any, Dict, Iterable, List, Literal, Mapping, Optional, Sequence, Tuple, Union,
                    overload)

from ._arrays import as_array
from ._library import (BYTES, NO_TOKEN, CError, CFacts, COptions, Handle, id_array, library, raise_error, taken_bytes,
                       taken_ids, text_of)
from .answer import Answer, Events, Parts
from .chat import ChatAnswer, Reply
from .errors import UsageError
from .options import Options, body_of, json_bytes
from .session import Session, Tokens, feed_together

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._arrays import FloatArray

Path = Union[str, "os.PathLike[str]"]
Message = Mapping[str, Any]

_TEXTS = ("/metrics", "/generate")  # whose replies are no JSON


def _choice(tool: Union[str, Mapping[str, Any]]) -> Union[str, Mapping[str, Any]]:
    """OpenAI's interface takes a function's name alone."""
    function = tool if isinstance(tool, str) else tool.get("function", tool)
    if isinstance(function, str) or "name" not in function:
        return tool
    return {"type": "function", "function": {"name": function["name"]}}


def _c_options(format: Optional[str], kv: Optional[str], mmproj: Optional[Path], draft_model: Optional[Path],
               **numbers: int) -> COptions:
    options = COptions(format.encode() if format else None, kv.encode() if kv else None,
                       os.fsencode(mmproj) if mmproj else None, os.fsencode(draft_model) if draft_model else None)
    for name, value in numbers.items():
        if not isinstance(value, int) or not 0 <= value <= NO_TOKEN:
            raise UsageError(f"{name}: expected a number from 0, found {value!r}", "usage", "", name,
                             "a number from 0", repr(value))
        setattr(options, name, value)
    return options


class Model:
    """A Hugging Face directory or a .gguf file, ready to run. Opening it compiles it if this machine has not done so yet,
    which needs a C++ compiler.

    format: how weights are kept: "f32", "f16", "bf16", "q8_0", "i8", "i4", "q4_0", "q4_k_m", "q5_k_m", "q6_k" (as
    stored). kv: the same of keys and values: "f32", "f16", "bf16", "q8_0". threads: 0 is one per core. context:
    positions of a session (the model's, at most 4096). chunk: most tokens of one pass (512). mmproj: the vision tower of
    a .gguf file. slots: answers of generate and chat that run at the same time. draft: tokens guessed ahead in one step,
    by draft_model if there is one.

    A model may be used from any number of threads and asyncio tasks: answers share each pass over the weights, and each
    has the bytes that it has alone. `with` closes it.
    """

    def __init__(self, path: Path, *, format: Optional[str] = None, kv: Optional[str] = None, threads: int = 0,
                 context: int = 0, chunk: int = 0, mmproj: Optional[Path] = None, slots: int = 0, draft: int = 0,
                 draft_model: Optional[Path] = None) -> None:
        self.path = os.fspath(path)
        options = _c_options(format, kv, mmproj, draft_model, threads=threads, context=context, chunk=chunk,
                             slots=slots, draft=draft)
        error = CError()
        pointer = library().open(os.fsencode(path), options, error)
        if not pointer:
            raise_error(error)
        self._handle = Handle(pointer, library().close, "model")
        facts = CFacts()
        if library().facts_of(pointer, facts, error):
            raise_error(error)
        self.name: str = text_of(facts.name)
        self.family: str = text_of(facts.family)
        self.format: str = text_of(facts.format)
        self.kv: str = text_of(facts.kv)
        self.isa: str = text_of(facts.isa)
        self.vocab_size: int = facts.vocab
        self.dim: int = facts.dim
        self.context: int = facts.context
        self.threads: int = facts.threads
        self.slots: int = facts.slots
        self.has_tokenizer = bool(facts.has_tokenizer)
        self.has_chat = bool(facts.has_chat)
        self.sees_images = bool(facts.sees_images)
        self.bos: Optional[int] = None if facts.bos == NO_TOKEN else facts.bos
        self.eos: Optional[int] = None if facts.eos == NO_TOKEN else facts.eos
        self.stop_ids: List[int] = list(facts.stop_ids[:facts.stop_id_count])
        self.parameters: int = facts.parameters
        self.weight_bytes: int = facts.weight_bytes
        self.activation_bytes: int = facts.activation_bytes
        self.state_bytes: int = facts.state_bytes

    def __repr__(self) -> str:
        return f"cke.Model({self.path!r})  # {self.name}"

    # ---- text ----

    def tokenize(self, text: str, *, add_special: bool = True, parse_special: bool = True) -> List[int]:
        """The ids of a text. add_special: with those that begin and end one. parse_special: names of control tokens in
        the text become those tokens."""
        data = text.encode("utf-8", "surrogatepass")
        return self._tokenize(data, add_special, parse_special)

    def _tokenize(self, data: bytes, add_special: bool, parse_special: bool) -> List[int]:
        error = CError()
        with self._handle as pointer:
            return taken_ids(
                lambda take: library().tokenize(pointer, data, len(data), add_special, parse_special, take, None, error),
                error)

    def detokenize(self, ids: Sequence[int]) -> str:
        """The text of ids. Bytes that are not UTF-8 become U+FFFD."""
        return self._detokenize(ids, 0).decode("utf-8", "replace")

    def detokenize_bytes(self, ids: Sequence[int]) -> bytes:
        """The bytes of ids, which may end within a character."""
        return self._detokenize(ids, BYTES)

    def _detokenize(self, ids: Sequence[int], how: int) -> bytes:
        error = CError()
        array = id_array(ids)
        with self._handle as pointer:
            return taken_bytes(
                lambda take: library().detokenize(pointer, array, len(ids), how, take, None, error), error)

    # ---- answers ----

    @overload
    def generate(self, prompt: Tokens, *, stream: Literal[False] = ..., **options: Unpack[Options]) -> str: ...
    @overload
    def generate(self, prompt: Tokens, *, stream: Literal[True], **options: Unpack[Options]) -> Answer: ...
    def generate(self, prompt: Tokens, *, stream: bool = False, **options: Unpack[Options]) -> Union[str, Answer]:
        """Continues a text, or ids. options: see cke.Options.

        With stream=True the result yields pieces of text with `for` or `async for`, and `await` gives all of it.
        """
        body = body_of(options)
        body["prompt"] = prompt if isinstance(prompt, str) else list(prompt)
        data = json_bytes(body)
        error = CError()
        with self._handle as pointer:
            answer = Answer(library().ask(pointer, b"/generate", data, len(data), error), error)
        return answer if stream else answer.text()

    @overload
    def chat(self, messages: Union[str, Sequence[Message]], *, tools: Optional[Sequence[Mapping[str, Any]]] = ...,
             tool_choice: Union[str, Mapping[str, Any], None] = ..., thinking: Optional[bool] = ...,
             stream: Literal[False] = ..., **options: Unpack[Options]) -> Reply: ...
    @overload
    def chat(self, messages: Union[str, Sequence[Message]], *, tools: Optional[Sequence[Mapping[str, Any]]] = ...,
             tool_choice: Union[str, Mapping[str, Any], None] = ..., thinking: Optional[bool] = ...,
             stream: Literal[True], **options: Unpack[Options]) -> ChatAnswer: ...
    def chat(self, messages: Union[str, Sequence[Message]], *, tools: Optional[Sequence[Mapping[str, Any]]] = None,
             tool_choice: Union[str, Mapping[str, Any], None] = None, thinking: Optional[bool] = None,
             stream: bool = False, **options: Unpack[Options]) -> Union[Reply, ChatAnswer]:
        """Replies to a conversation, in the model's own chat form.

        messages: {"role", "content"} each, or the text of one of the user's. tools: functions as OpenAI's interface has
        them, or each function alone: {"name", "description", "parameters"}. tool_choice: "auto", "none", "required" or
        one of them. thinking: whether a model that can think does. max_tokens: default what the context leaves.
        """
        body = body_of(options, default_tokens=False)
        body["messages"] = [{"role": "user", "content": messages}] if isinstance(messages, str) else list(messages)
        if tools is not None:
            body["tools"] = [tool if "function" in tool else {"type": "function", "function": tool} for tool in tools]
        if tool_choice is not None:
            body["tool_choice"] = _choice(tool_choice)
        if thinking is not None:
            body["chat_template_kwargs"] = {"enable_thinking": thinking}
        if "json_schema" in body:
            schema = body.pop("json_schema")
            body["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
        body["stream"] = True
        body["stream_options"] = {"include_usage": True}
        answer = ChatAnswer(self.stream("/v1/chat/completions", body))
        return answer if stream else answer.reply()

    def request(self, path: str, body: Optional[Mapping[str, Any]] = None) -> Any:
        """A request to `cke serve`, without a network: path is a route such as "/v1/completions", and body its JSON.
        Returns the reply's JSON; of "/metrics" the text."""
        if body and body.get("stream"):
            raise UsageError(f"stream: expected nothing, as stream() has the events, found {body['stream']!r}", "usage",
                             "", "stream", "nothing, as stream() has the events", repr(body["stream"]))
        with Parts(*self._ask(path, body)) as parts:
            data = b"".join(iter(parts._next, None))
        return data.decode("utf-8", "replace") if path in _TEXTS else json.loads(data)

    def stream(self, path: str, body: Mapping[str, Any]) -> Events:
        """The events of a request with "stream": true."""
        return Events(*self._ask(path, {**body, "stream": True}))

    def _ask(self, path: str, body: Optional[Mapping[str, Any]]) -> Tuple[Optional[int], CError]:
        data = b"" if body is None else json_bytes(body)
        error = CError()
        with self._handle as pointer:
            return library().ask(pointer, path.encode(), data, len(data), error), error

    def apply_template(self, messages: Sequence[Message], tools: Optional[Sequence[Mapping[str, Any]]] = None) -> str:
        """The prompt that the model's chat template makes of a conversation."""
        body: Dict[str, Any] = {"messages": list(messages)}
        if tools is not None:
            body["tools"] = list(tools)
        return str(self.request("/apply-template", body)["prompt"])

    def embed(self, texts: Union[str, Sequence[str]], *, dimensions: int = 0) -> FloatArray:
        """Embeddings, float32: [dim] of a text, [texts, dim] of a list. dimensions: only the first so many, of length 1
        again."""
        all_of = [texts] if isinstance(texts, str) else list(texts)
        body: Dict[str, Any] = {"input": all_of, "encoding_format": "base64"}
        if dimensions:
            body["dimensions"] = dimensions
        data = self.request("/v1/embeddings", body)["data"]
        rows = bytearray(b"".join(base64.b64decode(row["embedding"]) for row in data))
        width = len(rows) // 4 // len(data)
        return as_array(rows, (width,) if isinstance(texts, str) else (len(data), width), writable=True)

    # ---- ids and logits ----

    def logits(self, tokens: Tokens) -> FloatArray:
        """The logits after each id, float32 [ids, vocab_size]."""
        with self.session() as session:
            return session.feed_all(tokens)

    def session(self) -> Session:
        """A new session, at position 0."""
        error = CError()
        with self._handle as pointer:
            return Session(self, library().session_create(pointer, error), error)

    def feed(self, turns: Iterable[Tuple[Session, Tokens]]) -> None:
        """Feeds several sessions in one pass over the weights, each its own ids. After an error all are unchanged."""
        feed_together(turns)

    def close(self) -> None:
        """Frees the model, once its sessions and answers are gone."""
        self._handle.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def build(path: Path, *, format: Optional[str] = None, kv: Optional[str] = None) -> str:
    """Compiles a checkpoint's model ahead of its first use. Returns the path of the compiled unit."""
    error = CError()
    options = _c_options(format, kv, None, None)
    return os.fsdecode(
        taken_bytes(lambda take: library().build(os.fsencode(path), options, take, None, error), error))
