"""Prompts of so many tokens that no cache has seen, without asking the endpoint for each."""

from __future__ import annotations

import random
import secrets

from ..engine import Engine, EngineError
from ..http import BadAnswer, Unreachable
from ..verify.prompt import nonce, text
from .client import Prompt

HEAD = 24
"""Random tokens at a prompt's start: they make all of its blocks new."""
SENTENCES = 200


class Prompts:
    """Makes prompts for one model. ``limit``: its context in tokens, None when it does not say.

    Endpoints without /tokenize get texts, whose length in tokens is only about right; ``exact`` tells.
    """

    def __init__(self, ids: list[int], limit: int | None, tokens_per_word: float = 1.3, key: str = "") -> None:
        """``ids``: tokens of a readable text; empty for an endpoint that takes texts only. ``key``: the same prompts again."""
        self.limit = limit
        self._ids, self._tokens_per_word = ids, tokens_per_word
        # Never the run's seed: prompts of an earlier run are in the caches.
        self._dice = random.Random(key or secrets.randbits(64))

    @classmethod
    def of(cls, engine: Engine, key: str = "") -> Prompts:
        """Ask the endpoint once. Raises what Engine.tokenize raises, but for an endpoint that has no such path."""
        try:
            answer = engine.tokenize(text(SENTENCES))
        except BadAnswer as err:
            if err.status not in (404, 405):
                raise
            return cls([], None, key=key)
        except (EngineError, Unreachable):
            raise
        return cls(answer.ids, answer.max_model_len, key=key)

    @property
    def exact(self) -> bool:
        """Whether sizes are numbers of tokens."""
        return bool(self._ids)

    def fresh(self, tokens: int) -> Prompt:
        """A prompt of ``tokens`` tokens that nobody has sent before."""
        if not self._ids:
            return self.more("", tokens)
        return self.more([], tokens)

    def more(self, start: Prompt, tokens: int) -> Prompt:
        """``start`` and so much new that all of it has ``tokens`` tokens; ``start`` comes from here."""
        if isinstance(start, str):
            words = text(SENTENCES * 2).split()
            have = len(start.split()) * self._tokens_per_word
            need = max(1, round((tokens - have) / self._tokens_per_word))
            return f"{start} {nonce()} {' '.join(words[:need])}".strip()
        need = tokens - len(start)
        at = self._dice.randrange(len(self._ids))
        story = (self._ids[at:] + self._ids * (need // len(self._ids) + 1))[:need]
        head = [self._dice.choice(self._ids) for _ in range(min(HEAD, need))]
        return [*start, *head, *story[len(head) :]]

    def head(self, prompt: Prompt, tokens: int) -> Prompt:
        """The first ``tokens`` tokens of a prompt from here."""
        if isinstance(prompt, str):
            return " ".join(prompt.split()[: max(1, round(tokens / self._tokens_per_word))])
        return prompt[:tokens]
