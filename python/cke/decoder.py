# SPDX-License-Identifier: MIT
"""Greedy decoding of one sequence, a step at a time."""
from __future__ import annotations

from typing import Union

from ._arrays import greedy
from .model import Model, Path


class Decoder:
    """One sequence whose likeliest token is always taken."""

    def __init__(self, model: Union[Model, Path]) -> None:
        self.model = model if isinstance(model, Model) else Model(model)
        self._session = self.model.session()

    @property
    def position(self) -> int:
        """How many ids were fed."""
        return self._session.position

    def step(self, token: int) -> int:
        """Feeds an id; returns the likeliest one after it."""
        return greedy(self._session.feed([token]).logits)

    def generate(self, prompt: str, max_tokens: int = 100) -> str:
        """Begins anew with a prompt, and continues it."""
        self.reset()
        return self._session.generate(prompt, max_tokens=max_tokens)

    def reset(self) -> None:
        """Forgets all ids."""
        self._session.rewind(0)
