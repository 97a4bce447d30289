"""The faults that are switched on, and the choice of those that meet an operation."""

from __future__ import annotations

import errno
import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from . import kinds
from .globs import matches

MB = 1e6


@dataclass
class Rule:
    """One fault. `hits` counts the operations it met; `count` is how many more it will meet, None = no bound."""

    number: int
    kind: str
    ops: frozenset[str]
    glob: str
    probability: float
    count: int | None
    skip: int
    params: dict[str, Any]
    hits: int = 0
    gate: threading.Event = field(default_factory=threading.Event)
    outcome: str = ""
    """What a released hang does: `proceed` or an errno's name."""
    free_at: float = 0.0
    """When the stream shared by all operations of a delay is free again, by the monotonic clock."""
    streams: dict[int, float] = field(default_factory=dict)
    """The same of each open file: the kernel asks for several pieces of one file at a time."""

    def describe(self) -> dict[str, Any]:
        """What the control socket tells of it."""
        shown = ("number", "kind", "glob", "probability", "count", "skip", "params", "hits")
        return {**{name: getattr(self, name) for name in shown}, "ops": sorted(self.ops)}


class Rules:
    """All rules, in the order in which they were added. Safe for many threads."""

    def __init__(self, seed: int = 0) -> None:
        self._lock = threading.Lock()
        self._rules: tuple[Rule, ...] = ()
        self._number = 0
        self.random = random.Random(seed)

    def add(self, asked: Mapping[str, Any]) -> int:
        """Switch a fault on; its number.

        Raises:
            ValueError: all that is wrong with it.
        """
        if found := kinds.faults(asked):
            raise ValueError("; ".join(found))
        kind = kinds.KINDS[asked["kind"]]
        with self._lock:
            self._number += 1
            rule = Rule(
                self._number,
                asked["kind"],
                frozenset(asked.get("ops") or kind.allowed),
                asked.get("glob", "**"),
                asked.get("probability", 1.0),
                asked.get("count"),
                asked.get("skip", 0),
                {**kind.defaults, **asked.get("params", {})},
            )
            self._rules = (*self._rules, rule)
            return rule.number

    def remove(self, number: int | None, outcome: str = "") -> list[int]:
        """Switch one rule (None: all) off and let what it holds go on with an outcome; the numbers that were on."""
        with self._lock:
            gone = [rule for rule in self._rules if number is None or rule.number == number]
            self._rules = tuple(rule for rule in self._rules if rule not in gone)
        for rule in gone:
            rule.outcome = outcome or rule.params.get("then", "proceed")
            rule.gate.set()
        return [rule.number for rule in gone]

    def release(self, number: int, outcome: str = "") -> int:
        """Let go what a hang holds at this moment, and hold what comes after it; how many rules that were (0 or 1)."""
        with self._lock:
            held = [rule for rule in self._rules if rule.number == number and rule.kind == "hang"]
            for rule in held:
                rule.outcome = outcome or rule.params["then"]
                rule.gate.set()
                rule.gate = threading.Event()
        return len(held)

    def describe(self) -> list[dict[str, Any]]:
        return [rule.describe() for rule in self._rules]

    def on(self, kind: str) -> bool:
        """Whether a rule of this kind is switched on."""
        return any(rule.kind == kind for rule in self._rules)

    def fire(self, ops: set[str], *paths: str) -> list[Rule]:
        """The rules that meet an operation of any of these names on any of these paths; their counts go down."""
        if not self._rules:
            return []
        fired = []
        with self._lock:
            for rule in self._rules:
                if ops.isdisjoint(rule.ops) or rule.count == 0 or not any(matches(rule.glob, path) for path in paths):
                    continue
                if rule.skip:
                    rule.skip -= 1
                    continue
                if rule.probability < 1 and self.random.random() >= rule.probability:
                    continue
                rule.hits += 1
                if rule.count is not None:
                    rule.count -= 1
                fired.append(rule)
        return fired

    def end(self) -> None:
        """Everything fails with ENOTCONN from now on, what hangs too."""
        with self._lock:
            old = [rule.number for rule in self._rules]
        self.add({"kind": "error", "params": {"errno": "ENOTCONN"}})
        for number in old:
            self.remove(number, "ENOTCONN")

    def apply(self, rule: Rule, size: int, stream: int) -> None:
        """Wait or fail as an error, a hang or a delay says; other kinds are the operation's own business.

        Args:
            size: bytes that the operation moves.
            stream: the open file that it moves them for; 0 = none.

        Raises:
            OSError: the fault.
        """
        if rule.kind == "error":
            _fail(rule.params["errno"])
        elif rule.kind == "hang":
            rule.gate.wait()
            if rule.outcome != "proceed":
                _fail(rule.outcome)
        elif rule.kind == "delay":
            time.sleep(self._pause(rule, size, stream))

    def _pause(self, rule: Rule, size: int, stream: int) -> float:
        asked, own = rule.params, rule.params["ms_per_mb"] * size / MB / 1000
        with self._lock:
            now = time.monotonic()
            ready = now + own
            if stream and own:
                ready = rule.streams[stream] = max(rule.streams.get(stream, 0.0), now) + own
            if asked["total_mb_s"]:
                rule.free_at = max(rule.free_at, now) + size / MB / asked["total_mb_s"]
                ready = max(ready, rule.free_at)
        return float(ready - now + asked["ms"] / 1000)


def _fail(name: str) -> None:
    code = getattr(errno, name)
    raise OSError(code, name)
