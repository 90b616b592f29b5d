# SPDX-License-Identifier: MIT
"""For programs that were written for llama-cpp-python: `from cke.llama import Llama`.

Names, defaults and replies are those of llama_cpp.Llama. What cke does not have is refused by name; arguments that only
say how llama.cpp works inside (n_gpu_layers=0, use_mmap, verbose and the like) are taken and do nothing."""
from __future__ import annotations

import json
import os
import random
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from ._library import BYTES, LEADING_SPACE, NO_CONTROL
from .errors import UsageError
from .model import Model

Prompt = Union[str, Sequence[int]]
JsonDict = Dict[str, Any]

_NO_SEED = 0xFFFFFFFF  # LLAMA_DEFAULT_SEED: a random one
# Arguments of Llama() that do not change an answer, and those that are refused unless they say nothing.
_INSIDE = {"n_ubatch", "n_threads_batch", "use_mmap", "use_mlock", "verbose", "numa", "offload_kqv", "flash_attn",
           "op_offload", "swa_full", "last_n_tokens_size", "embedding", "logits_all", "main_gpu", "no_perf",
           "pooling_type", "attention_type", "lora_scale", "kv_unified"}
_NEUTRAL: Dict[str, tuple[Any, ...]] = {
    "n_gpu_layers": (0, -1), "chat_format": (None,), "chat_handler": (None,), "draft_model": (None,),
    "tokenizer": (None,), "lora_path": (None,), "lora_base": (None,), "vocab_only": (False,), "kv_overrides": (None,),
    "tensor_split": (None,), "type_k": (None,), "type_v": (None,), "rope_freq_base": (0, 0.0),
    "rope_freq_scale": (0, 0.0), "rope_scaling_type": (None, -1), "yarn_ext_factor": (-1.0,),
    "yarn_attn_factor": (1.0,), "yarn_beta_fast": (32.0,), "yarn_beta_slow": (1.0,), "yarn_orig_ctx": (0,),
    "split_mode": (None, 0, 1), "rpc_servers": (None,), "spm_infill": (False,)}
_NEUTRAL_OF_ANSWER: Dict[str, tuple[Any, ...]] = {
    "suffix": (None, ""), "tfs_z": (1.0,), "mirostat_mode": (0,), "logits_processor": (None,),
    "stopping_criteria": (None,), "functions": (None,), "function_call": (None,)}


def _refuse(given: Mapping[str, Any], neutral: Mapping[str, Sequence[Any]], inside: Sequence[str] = ()) -> None:
    for name, value in given.items():
        if name in inside or value in neutral.get(name, ()):
            continue
        if name not in neutral:
            raise TypeError(f"unexpected argument {name!r}")
        raise UsageError(f"{name}: cke does not support it, found {value!r}", "unsupported", "", name, "the default",
                         repr(value))


class LlamaGrammar:
    """A grammar for an answer."""

    def __init__(self, text: str) -> None:
        self.text = text

    @classmethod
    def from_string(cls, grammar: str, verbose: bool = True) -> LlamaGrammar:
        return cls(grammar)

    @classmethod
    def from_file(cls, file: Union[str, os.PathLike[str]], verbose: bool = True) -> LlamaGrammar:
        with open(file, encoding="utf-8") as f:
            return cls(f.read())


class Llama:
    """A model with the methods of llama_cpp.Llama. `model` is the cke.Model behind it.

    model_path: a .gguf file or a Hugging Face directory. n_ctx: positions; 0: the model's, at most 4096. n_batch: most
    tokens of one pass. n_threads: None is one per core. seed: of answers that do not name one."""

    def __init__(self, model_path: Union[str, os.PathLike[str]], *, n_ctx: int = 512, n_batch: int = 512,
                 n_threads: Optional[int] = None, seed: int = _NO_SEED, **others: Any) -> None:
        _refuse(others, _NEUTRAL, tuple(_INSIDE))
        self.model_path = os.fspath(model_path)
        self.model = Model(model_path, context=n_ctx, chunk=n_batch, threads=n_threads or 0)
        self._seeds = random.Random(None if seed in (_NO_SEED, -1) else seed)

    # ---- text ----

    def tokenize(self, text: bytes, add_bos: bool = True, special: bool = False) -> List[int]:
        return self.model._tokenize(text, add_bos, special)

    def detokenize(self, tokens: Sequence[int], prev_tokens: Optional[Sequence[int]] = None,
                   special: bool = False) -> bytes:
        """The bytes of ids, without control tokens unless `special`. A leading space is dropped only after the id that
        begins a text, so that pieces can be joined. prev_tokens change nothing."""
        text = self.model._detokenize(tokens, BYTES | LEADING_SPACE | (0 if special else NO_CONTROL))
        begins = len(tokens) > 0 and tokens[0] == self.token_bos()
        return text[1:] if begins and text.startswith(b" ") else text

    # ---- answers ----

    def _body(self, seed: Optional[int], temperature: float, top_p: float, top_k: int, min_p: float, typical_p: float,
              frequency_penalty: float, presence_penalty: float, repeat_penalty: float,
              stop: Union[str, Sequence[str], None], stream: bool, logit_bias: Optional[Mapping[int, float]],
              grammar: Optional[LlamaGrammar]) -> JsonDict:
        body: JsonDict = {
            "temperature": temperature, "top_p": top_p, "top_k": max(top_k, 0), "min_p": min_p, "typical_p": typical_p,
            "frequency_penalty": frequency_penalty, "presence_penalty": presence_penalty,
            "repeat_penalty": repeat_penalty, "repeat_last_n": 64, "stream": stream,
            "seed": self._seeds.getrandbits(32) if seed is None or seed in (_NO_SEED, -1) else seed}
        if stop:
            body["stop"] = stop if isinstance(stop, str) else list(stop)
        if logit_bias:
            body["logit_bias"] = {str(token): bias for token, bias in logit_bias.items()}
        if grammar is not None:
            body["grammar"] = grammar.text
        return body

    def _named(self, reply: JsonDict, model: Optional[str]) -> JsonDict:
        reply["model"] = model or self.model_path
        return reply

    def _answer(self, path: str, body: JsonDict, model: Optional[str]) -> Union[JsonDict, Iterator[JsonDict]]:
        if not body["stream"]:
            return self._named(self.model.request(path, body), model)
        events = self.model.stream(path, body)  # a wrong argument is refused here, not at the first event
        return (self._named(event, model) for event in events)

    def create_completion(self, prompt: Prompt, suffix: Optional[str] = None, max_tokens: Optional[int] = 16,
                          temperature: float = 0.8, top_p: float = 0.95, min_p: float = 0.05, typical_p: float = 1.0,
                          logprobs: Optional[int] = None, echo: bool = False,
                          stop: Union[str, Sequence[str], None] = [], frequency_penalty: float = 0.0,
                          presence_penalty: float = 0.0, repeat_penalty: float = 1.0, top_k: int = 40,
                          stream: bool = False, seed: Optional[int] = None, tfs_z: float = 1.0, mirostat_mode: int = 0,
                          mirostat_tau: float = 5.0, mirostat_eta: float = 0.1, model: Optional[str] = None,
                          stopping_criteria: Any = None, logits_processor: Any = None,
                          grammar: Optional[LlamaGrammar] = None,
                          logit_bias: Optional[Mapping[int, float]] = None) -> Union[JsonDict, Iterator[JsonDict]]:
        """OpenAI's completion; with stream=True an iterator of its chunks. max_tokens None or below 1: what the context
        leaves."""
        _refuse({"suffix": suffix, "tfs_z": tfs_z, "mirostat_mode": mirostat_mode, "logits_processor": logits_processor,
                 "stopping_criteria": stopping_criteria}, _NEUTRAL_OF_ANSWER)
        body = self._body(seed, temperature, top_p, top_k, min_p, typical_p, frequency_penalty, presence_penalty,
                          repeat_penalty, stop, stream, logit_bias, grammar)
        body["prompt"] = prompt if isinstance(prompt, str) else list(prompt)
        body["max_tokens"] = max_tokens if max_tokens is not None and max_tokens > 0 else self.model.context + 1
        body["echo"] = echo
        if logprobs is not None:
            body["logprobs"] = logprobs
        return self._answer("/v1/completions", body, model)

    def __call__(self, prompt: Prompt, *arguments: Any, **options: Any) -> Union[JsonDict, Iterator[JsonDict]]:
        return self.create_completion(prompt, *arguments, **options)

    def create_chat_completion(self, messages: Sequence[Mapping[str, Any]], functions: Any = None,
                               function_call: Any = None, tools: Optional[Sequence[Mapping[str, Any]]] = None,
                               tool_choice: Union[str, Mapping[str, Any], None] = None, temperature: float = 0.2,
                               top_p: float = 0.95, top_k: int = 40, min_p: float = 0.05, typical_p: float = 1.0,
                               stream: bool = False, stop: Union[str, Sequence[str], None] = [],
                               seed: Optional[int] = None, response_format: Optional[Mapping[str, Any]] = None,
                               max_tokens: Optional[int] = None, presence_penalty: float = 0.0,
                               frequency_penalty: float = 0.0, repeat_penalty: float = 1.0, tfs_z: float = 1.0,
                               mirostat_mode: int = 0, mirostat_tau: float = 5.0, mirostat_eta: float = 0.1,
                               model: Optional[str] = None, logits_processor: Any = None,
                               grammar: Optional[LlamaGrammar] = None,
                               logit_bias: Optional[Mapping[int, float]] = None, logprobs: Optional[bool] = None,
                               top_logprobs: Optional[int] = None) -> Union[JsonDict, Iterator[JsonDict]]:
        """OpenAI's chat completion; with stream=True an iterator of its chunks."""
        _refuse({"functions": functions, "function_call": function_call, "tfs_z": tfs_z,
                 "mirostat_mode": mirostat_mode, "logits_processor": logits_processor}, _NEUTRAL_OF_ANSWER)
        body = self._body(seed, temperature, top_p, top_k, min_p, typical_p, frequency_penalty, presence_penalty,
                          repeat_penalty, stop, stream, logit_bias, grammar)
        body["messages"] = list(messages)
        for name, value in (("tools", tools), ("tool_choice", tool_choice), ("logprobs", logprobs),
                            ("top_logprobs", top_logprobs)):
            if value is not None:
                body[name] = value
        if max_tokens is not None and max_tokens > 0:
            body["max_tokens"] = max_tokens
        if response_format is not None:
            body["response_format"] = _openai_format(response_format)
        return self._answer("/v1/chat/completions", body, model)

    # ---- embeddings ----

    def create_embedding(self, input: Union[str, Sequence[str]], model: Optional[str] = None) -> JsonDict:
        texts = input if isinstance(input, str) else list(input)
        return self._named(self.model.request("/v1/embeddings", {"input": texts}), model)

    def embed(self, input: Union[str, Sequence[str]], normalize: bool = False, truncate: bool = True,
              return_count: bool = False) -> Any:
        """Embeddings; with return_count also the number of tokens. Their length is 1 whatever normalize says, and a text
        that the context cannot hold is refused whatever truncate says."""
        reply = self.create_embedding(input)
        vectors = [row["embedding"] for row in reply["data"]]
        result = vectors[0] if isinstance(input, str) else vectors
        return (result, reply["usage"]["total_tokens"]) if return_count else result

    # ---- facts ----

    def n_ctx(self) -> int:
        return self.model.context

    def n_vocab(self) -> int:
        return self.model.vocab_size

    def n_embd(self) -> int:
        return self.model.dim

    def token_bos(self) -> int:
        return -1 if self.model.bos is None else self.model.bos

    def token_eos(self) -> int:
        return -1 if self.model.eos is None else self.model.eos

    def close(self) -> None:
        self.model.close()


def _openai_format(given: Mapping[str, Any]) -> JsonDict:
    """llama-cpp-python has {"type": "json_object", "schema": ...} for a schema."""
    schema = given.get("schema")
    if schema is None:
        return dict(given)
    if isinstance(schema, str):
        schema = json.loads(schema)
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
