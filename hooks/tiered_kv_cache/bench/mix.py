"""Users who talk in turns with one assistant: all prompts begin with the same system prompt, and each round is longer."""

from __future__ import annotations

from . import crowd
from .bench import Bench
from .client import Prompt
from .crowd import Task
from .record import CLOSED, COLD, SHARED, Key
from .settings import MIX

SYSTEM = 512
"""Tokens that all users share."""
ROUND = 256
"""Tokens that each round adds: the last answer and the next question."""


async def run(bench: Bench) -> None:
    """Rounds one after the other, all users of a round at once, each user's next round at the next place."""
    users, limit = bench.settings.users, bench.prompts.limit
    system = bench.prompts.fresh(SYSTEM)
    history: list[Prompt] = [system] * users
    for number in range(1, bench.settings.rounds + 1):
        size = SYSTEM + number * ROUND
        if limit is not None and size + bench.settings.output_tokens > limit:
            bench.skip(MIX, f"rounds {number} to {bench.settings.rounds}", f"the context ends at {limit} tokens")
            return
        if bench.deadline.passed():
            bench.skip(MIX, f"rounds {number} to {bench.settings.rounds}", "no time was left; give a larger --budget")
            return
        history = [bench.prompts.more(one, size) for one in history]
        for condition in bench.dice.sample((COLD, SHARED), 2):
            key = Key(MIX, condition, size, number, CLOSED, users)
            # Cold is the control: as many users with prompts as long, of which no other has any part.
            prompts = history if condition == SHARED else [bench.prompts.fresh(size) for _ in history]
            front = bench.places.front
            tasks = [Task(key, front[(user + number) % len(front)], prompt) for user, prompt in enumerate(prompts)]
            await crowd.closed(bench, key, tasks, users)
