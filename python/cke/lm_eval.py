# SPDX-License-Identifier: MIT
"""The model "cke" of lm-evaluation-harness: `python -m cke.lm_eval run --model cke --model_args pretrained=DIR --tasks
...` is its command line with cke's models known."""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy
from lm_eval.api.model import TemplateLM
from lm_eval.api.registry import register_model
from lm_eval.utils import get_rolling_token_windows, make_disjoint_window

from .model import Model
from .options import Options

Pair = Tuple[Tuple[str, str], List[int], List[int]]  # (texts, ids of the context, ids of the continuation)
Score = Tuple[float, bool]  # logarithm of the probability; whether each id is the likeliest

_OPTIONS = set(Options.__annotations__) - {"max_tokens", "stop"}


@register_model("cke")
class CkeLM(TemplateLM):
    """pretrained: a Hugging Face directory or a .gguf file. format, kv, threads, context, chunk, slots: as of cke.Model.
    max_gen_toks: tokens of an answer for which a task says nothing."""

    def __init__(self, pretrained: str, format: Optional[str] = None, kv: Optional[str] = None, threads: int = 0,
                 context: int = 0, chunk: int = 0, slots: int = 0, max_gen_toks: int = 256, batch_size: Any = None,
                 max_batch_size: Any = None, device: Any = None) -> None:
        super().__init__()
        self.model = Model(pretrained, format=format, kv=kv, threads=threads, context=context, chunk=chunk, slots=slots)
        self.max_gen_toks = max_gen_toks

    # ---- text ----

    @property
    def max_length(self) -> int:
        return self.model.context

    @property
    def tokenizer_name(self) -> str:
        return self.model.path.replace("/", "__")

    @property
    def eot_token_id(self) -> int:
        if self.model.eos is None:
            raise ValueError(f"cke: {self.model.path}: expected a token that ends a text, found none")
        return self.model.eos

    @property
    def prefix_token_id(self) -> int:
        return self.eot_token_id if self.model.bos is None else self.model.bos

    def tok_encode(self, string: str, add_special_tokens: Optional[bool] = None, **_: Any) -> List[int]:
        ids = self.model.tokenize(string, add_special=add_special_tokens is not False)
        twice = add_special_tokens is None and ids[:2] == [self.model.bos] * 2  # the text begins with its name
        return ids[1:] if twice else ids

    def apply_chat_template(self, chat_history: List[Dict[str, str]], add_generation_prompt: bool = True) -> str:
        if not add_generation_prompt:
            raise NotImplementedError("cke: a conversation that goes on within the assistant's message")
        return self.model.apply_template(chat_history)

    # ---- likelihoods ----

    def _loglikelihood_tokens(self, requests: Sequence[Pair], disable_tqdm: bool = False, **_: Any) -> List[Score]:
        """A context that several continuations share is computed once: each goes on with a fork of its session."""
        scores: List[Score] = [(0.0, True)] * len(requests)
        order = sorted(range(len(requests)), key=lambda i: requests[i][1])
        context: List[int] = []
        session = None
        for i in order:
            texts, before, after = requests[i]
            room = self.model.context + 1 - len(after)  # the last id is not fed
            if room < 1:
                raise ValueError(f"cke: a continuation of {len(after)} ids: expected at most {self.model.context}")
            before = before[-room:]
            if session is None or before != context:
                session, context = self.model.session().feed(before), before
            rows = session.logits[None, :]
            if len(after) > 1:
                rows = numpy.concatenate([rows, session.fork().feed_all(after[:-1])])
            scores[i] = _score(rows[:len(after)], after)
            self.cache_hook.add_partial("loglikelihood", texts, scores[i])
        return scores

    def loglikelihood_rolling(self, requests: Sequence[Any], disable_tqdm: bool = False) -> List[float]:
        sums = []
        for (text,) in [request.args for request in requests]:
            windows = map(make_disjoint_window, get_rolling_token_windows(
                self.tok_encode(text), self.prefix_token_id, max_seq_len=self.model.context, context_len=1))
            total = 0.0
            for before, after in windows:
                session = self.model.session()
                rows = session.feed_all([*before, *after[:-1]])[len(before) - 1:]
                total += _score(rows, after)[0]
            sums.append(total)
            self.cache_hook.add_partial("loglikelihood_rolling", (text,), total)
        return sums

    # ---- texts ----

    def generate_until(self, requests: Sequence[Any], disable_tqdm: bool = False) -> List[str]:
        """All at the same time: the model takes as many as it has slots."""
        answers = [self.model.generate(*self._prompt(*request.args), stream=True, **self._options(request.args[1]))
                   for request in requests]
        texts = []
        for request, answer in zip(requests, answers):
            texts.append(answer.text())
            self.cache_hook.add_partial("generate_until", request.args, texts[-1])
        return texts

    def _prompt(self, text: str, options: Dict[str, Any]) -> Tuple[List[int]]:
        room = self.model.context - self._options(options)["max_tokens"]
        if room < 1:
            raise ValueError(f"cke: max_gen_toks: expected less than the context, {self.model.context}")
        return (self.tok_encode(text)[-room:],)

    def _options(self, given: Dict[str, Any]) -> Options:
        stops = given.get("until") or []
        result: Options = {"max_tokens": given.get("max_gen_toks", given.get("max_tokens", self.max_gen_toks)),
                           "stop": [stops] if isinstance(stops, str) else [stop for stop in stops if stop]}
        for name, value in given.items():
            if name in _OPTIONS:
                result[name] = value  # type: ignore[literal-required]
            elif name not in ("until", "max_gen_toks", "max_tokens", "do_sample"):
                raise ValueError(f"cke: {name}: expected an option of cke.Options, until, max_gen_toks or do_sample")
        if not given.get("do_sample", "temperature" in given):
            result["temperature"] = 0.0
        return result


def _score(rows: Any, ids: Sequence[int]) -> Score:
    """rows: the logits before each id, [ids, vocab_size]."""
    exact = rows.astype(numpy.float64)
    highest = exact.max(axis=1)
    norms = highest + numpy.log(numpy.exp(exact - highest[:, None]).sum(axis=1))
    chosen = exact[numpy.arange(len(ids)), ids]
    return float((chosen - norms).sum()), bool((exact.argmax(axis=1) == numpy.asarray(ids)).all())


if __name__ == "__main__":
    from lm_eval.__main__ import cli_evaluate

    cli_evaluate()
