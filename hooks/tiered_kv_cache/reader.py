"""Reads typed keys of an object that the chart renders, and tells all faults together."""

from __future__ import annotations

import json
from math import inf
from typing import Any


class Reader:
    """Takes typed keys out of an object and remembers what is wrong."""

    def __init__(self, raw: dict[str, Any], source: str, faults: list[str] | None = None) -> None:
        self.raw, self.source = raw, source
        self.faults: list[str] = faults if faults is not None else []
        self._known: set[str] = set()

    def fault(self, key: str, value: Any, wanted: str) -> None:
        """Remember a fault of a key."""
        self.faults.append(f"{self.source}: {key} is {json.dumps(value)}. Fix: give {wanted}")

    def take(self, key: str, kind: type, default: Any = None) -> Any:
        """A value of a type; an empty one where it is something else."""
        self._known.add(key)
        value = self.raw.get(key, default)
        if not isinstance(value, kind):
            self.fault(key, value, {str: "a string", bool: "true or false", list: "a list", dict: "an object"}[kind])
            return kind()
        return value

    def number(self, key: str, default: float | None = None, least: float = 0) -> float:
        """A finite number."""
        self._known.add(key)
        value = self.raw.get(key, default)
        # bool is an int in Python, and Python's JSON knows NaN and Infinity.
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < inf:
            self.fault(key, value, f"a number of at least {least:g}")
            return least
        return value

    def whole(self, key: str, default: int | None = None, least: int = 0) -> int:
        """A whole number."""
        value = self.number(key, default, least)
        if value != int(value):
            self.fault(key, value, "a whole number")
        return int(value)

    def whole_or_null(self, key: str, least: int = 0) -> int | None:
        """A whole number, or a null that is written out; a key that is absent is a fault."""
        if key in self.raw and self.raw[key] is None:
            self._known.add(key)
            return None
        return self.whole(key, least=least)

    def unknown(self) -> None:
        """Remember every key that nobody took."""
        for key in sorted(self.raw.keys() - self._known):
            self.faults.append(
                f"{self.source}: unknown key {key}. Fix: use a chart and a hooks image of the same version"
            )
