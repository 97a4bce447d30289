"""Prompts that begin alike."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from router.engine import Engine
from router.stack import Stack

PREFIX_WORDS = 1000


def prefix(name: str, words: int = PREFIX_WORDS) -> str:
    """A text of its own, one token a word."""
    return " ".join(f"{name}-{number}" for number in range(words))


def question(name: str, number: int, words: int = PREFIX_WORDS) -> str:
    """A request that begins with the prefix."""
    return f"{prefix(name, words)} question {number} of {name}"


def holders(running: Stack, prompt: str) -> list[Engine]:
    """Engines with the most of a prompt in their cache; none if nobody has any."""
    most = max(engine.holds(prompt) for engine in running.engines)
    return [engine for engine in running.engines if engine.holds(prompt) == most] if most else []


def share_at_holder(running: Stack, names: list[str], rounds: int, stream: bool) -> float:
    """Ask each prefix so many times, one after the other; share of repeated ones that an engine got which had the prefix."""
    repeated = right = 0
    for number in range(rounds):
        for name in names:
            prompt = question(name, number)
            expected = holders(running, prompt)
            went = running.complete(prompt, stream)
            repeated += bool(expected)
            right += went in expected
    return right / repeated


def at_once(running: Stack, asked: list[str], width: int) -> list[float]:
    """Requests side by side; seconds of each."""

    def ask(prompt: str) -> float:
        answer = running.post("/v1/completions", {"model": "tiny", "prompt": prompt, "max_tokens": 4})
        assert answer.status_code == 200, answer.text
        return answer.elapsed.total_seconds()

    with ThreadPoolExecutor(width) as pool:
        return list(pool.map(ask, asked))
