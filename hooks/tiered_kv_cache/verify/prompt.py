"""A prompt of exactly so many tokens that no cache has seen."""

from __future__ import annotations

import secrets

from ..engine import Engine, EngineError, Tokens
from .config import MAX_TOKENS

SENTENCES = (
    "The library of the harbour town keeps a ledger of every ship that ever came in.",
    "Each entry names the cargo, the captain, and the weather on the morning of arrival.",
    "In spring the fishermen mend their nets, and the children count the boats from the wall.",
    "A lamp in the tower burns through the night, so that late boats find the channel.",
    "When the tide is low, one can walk to the old mill and read the dates cut into its stones.",
    "The baker opens before sunrise, for the crews want bread that is still warm.",
)


class PromptTooLong(Exception):
    """The prompt does not fit the model's context. ``limit``: its maxModelLen in tokens."""

    def __init__(self, tokens: int, limit: int) -> None:
        super().__init__(f"{tokens} prompt tokens and {MAX_TOKENS} generated ones exceed {limit}")
        self.limit = limit


def nonce() -> str:
    """Random text; at a prompt's start it makes all of the prompt's blocks new."""
    return secrets.token_hex(12)


def text(repeats: int) -> str:
    """Readable text that starts with a nonce."""
    story = (f"{i + 1}. {sentence}" for i in range(repeats) for sentence in SENTENCES)
    return f"Log {nonce()}. " + " ".join(story)


def build(engine: Engine, tokens: int) -> list[int]:
    """Exactly ``tokens`` token ids; raises PromptTooLong, or what Engine.tokenize raises."""
    repeats = max(1, tokens // (12 * len(SENTENCES)))
    while True:
        answer: Tokens = engine.tokenize(text(repeats))
        if answer.max_model_len is not None and tokens + MAX_TOKENS > answer.max_model_len:
            raise PromptTooLong(tokens, answer.max_model_len)
        if len(answer.ids) >= tokens:
            return answer.ids[:tokens]
        if repeats > tokens:
            raise EngineError(
                f"/tokenize of vLLM made only {len(answer.ids)} tokens of {repeats * len(SENTENCES)} sentences"
            )
        repeats *= 2
