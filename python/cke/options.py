# SPDX-License-Identifier: MIT
"""The options of an answer."""
from __future__ import annotations

import json
from typing import Any, Dict, Mapping, Sequence, TypedDict, Union

from .errors import UsageError


class Options(TypedDict, total=False):
    """How an answer's tokens are chosen, and where it ends. Defaults are those of `cke run`."""

    max_tokens: int  # 256, or what the context has room for
    min_tokens: int  # 0; the model's own end may not come before so many
    temperature: float  # 0: always the likeliest token
    top_k: int  # 0: off
    top_p: float  # 1: off
    min_p: float  # 0: off
    typical_p: float  # 1: off
    repeat_penalty: float  # 1: off
    frequency_penalty: float  # 0: off
    presence_penalty: float  # 0: off
    repeat_last_n: int  # 64: how many of the last tokens the penalties look at
    logit_bias: Mapping[int, float]  # by id, -100 to 100
    seed: int  # 0; the same seed gives the same text
    stop: Union[str, Sequence[str]]  # texts that end the answer and are no part of it
    grammar: str  # GBNF
    json_schema: Union[Mapping[str, Any], str]  # the answer is JSON of this schema
    ignore_eos: bool  # False; go on after the model's own end


_DEFAULTS: Dict[str, Any] = {"max_tokens": 256, "temperature": 0, "seed": 0, "repeat_last_n": 64}


def body_of(options: Mapping[str, Any], default_tokens: bool = True) -> Dict[str, Any]:
    """The fields of a request. None means the default."""
    for name in options:
        if name not in Options.__annotations__:
            raise TypeError(f"unexpected option {name!r}; those of an answer are: {', '.join(Options.__annotations__)}")
    body = dict(_DEFAULTS)
    if not default_tokens:
        del body["max_tokens"]
    body.update((name, value) for name, value in options.items() if value is not None)
    if "logit_bias" in body:
        body["logit_bias"] = {str(token): bias for token, bias in body["logit_bias"].items()}
    if "stop" in body and not isinstance(body["stop"], str):
        body["stop"] = list(body["stop"])
    if isinstance(body.get("json_schema"), str):
        try:
            body["json_schema"] = json.loads(body["json_schema"])
        except ValueError as e:
            raise UsageError(f"json_schema: expected JSON, found {e}", "usage", "", "json_schema", "JSON",
                             str(e)) from None
    return body


def json_bytes(body: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(body, allow_nan=False, default=_plain).encode()
    except (TypeError, ValueError) as e:
        raise UsageError(f"options: expected what JSON can say, found {e}", "usage", "", "options",
                         "what JSON can say", str(e)) from None


def _plain(x: Any) -> Any:
    """Numbers of numpy, and mappings and sequences that are no dicts and lists."""
    for form in ("item", "tolist"):
        if hasattr(x, form):
            return getattr(x, form)()
    if isinstance(x, Mapping):
        return dict(x)
    if isinstance(x, Sequence):
        return list(x)
    raise TypeError(f"an object of type {type(x).__name__}")
