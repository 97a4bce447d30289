"""Replay of recorded conversations (JSON in the form of ShareGPT, or lists of messages), and the same at another place."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..findings import UsageError
from . import crowd
from .bench import Bench
from .crowd import Task
from .record import AGAIN, CLOSED, FIRST, Key, Sample
from .settings import REPLAY

ROLES = {"human": "user", "user": "user", "gpt": "assistant", "chatgpt": "assistant", "assistant": "assistant",
         "bard": "assistant", "system": "system"}  # fmt: skip
USERS = 4
MOST = 50
"""Conversations of a file that are replayed."""
STORE_SECONDS = 2.0
Messages = list[dict[str, str]]


def read(path: str) -> list[Messages]:
    """The conversations of a file, each with at least one question. Raises UsageError."""
    fix = 'Fix: give a JSON list of {"conversations": [{"from": "human", "value": …}, …]} or {"messages": [{"role", "content"}, …]}'
    try:
        raw = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as err:
        raise UsageError(f"--conversations {path} cannot be read: {err}. {fix}") from err
    if not isinstance(raw, list):
        raise UsageError(f"--conversations {path} is no list. {fix}")
    faults, found = [], []
    for number, entry in enumerate(raw):
        messages = _messages(entry)
        if messages is None:
            faults.append(f"--conversations {path}: entry {number} is no conversation. {fix}")
        elif any(m["role"] == "user" for m in messages):
            found.append(messages)
    if faults:
        more = [f"and {len(faults) - 5} more entries"] if len(faults) > 5 else []
        raise UsageError("\n".join(faults[:5] + more))
    if not found:
        raise UsageError(f"--conversations {path} has no question of a user. {fix}")
    return found


def _messages(entry: Any) -> Messages | None:
    turns = entry.get("conversations", entry.get("messages")) if isinstance(entry, dict) else None
    if not isinstance(turns, list):
        return None
    found = []
    for turn in turns:
        if not isinstance(turn, dict):
            return None
        role, text = ROLES.get(str(turn.get("from", turn.get("role")))), turn.get("value", turn.get("content"))
        if role is None or not isinstance(text, str):
            return None
        found.append({"role": role, "content": text})
    return found


def turns(messages: Messages) -> list[Messages]:
    """The request of each question: all messages up to it. The file's own answers stand in for the engine's."""
    return [messages[: i + 1] for i, message in enumerate(messages) if message["role"] == "user"]


async def run(bench: Bench) -> None:
    """All conversations as they happen, a few at once and each at one place; then all again, each at the next place."""
    if not bench.settings.conversations:
        bench.skip(REPLAY, "all", "no --conversations FILE was given")
        return
    every = read(bench.settings.conversations)[:MOST]
    for shift, condition in enumerate((FIRST, AGAIN)):
        if bench.deadline.passed():
            bench.skip(REPLAY, condition, "no time was left; give a larger --budget")
            return
        if shift:
            await asyncio.sleep(min(STORE_SECONDS, bench.deadline.remaining()))
        await _pass(bench, every, condition, shift)


async def _pass(bench: Bench, every: Sequence[Messages], condition: str, shift: int) -> None:
    spots = bench.places.front
    going = dict(enumerate(every))
    number = 1
    while going and not bench.deadline.passed():
        key = Key(REPLAY, condition, None, number, CLOSED, USERS)
        tasks = {i: Task(key, spots[(i + shift) % len(spots)], turns(m)[number - 1]) for i, m in going.items()}
        first = len(bench.record.samples)
        await crowd.closed(bench, key, list(tasks.values()), USERS)
        number += 1
        if any(too_long(sample) for sample in bench.record.samples[first:]):
            bench.skip(REPLAY, f"turns from {number - 1} of some conversations", "they are longer than the context")
        # One that was refused for its length only grows.
        going = {
            i: m for i, m in going.items() if len(turns(m)) >= number and not _refused(bench, first, i, list(tasks))
        }


def too_long(sample: Sample) -> bool:
    """Whether the engine refused a request (400): of a file's conversation, for its length."""
    return sample.key.experiment == REPLAY and " answered 400" in sample.error


def _refused(bench: Bench, first: int, number: int, order: list[int]) -> bool:
    at = first + order.index(number)
    return at < len(bench.record.samples) and too_long(bench.record.samples[at])
