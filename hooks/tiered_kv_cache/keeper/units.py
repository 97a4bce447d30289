"""Quantities and durations as values files write them."""

from __future__ import annotations

import re

_SIZES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_SIZES |= {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)(Ki|Mi|Gi|Ti|Pi|k|M|G|T|P|)")
_TIMES = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h|d))+")
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")


def size(value: object) -> int | None:
    """Bytes of 80Gi, 500M or a number; None if it is no quantity."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return int(value) if 0 <= value < 2**63 else None
    found = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    return int(float(found[1]) * _SIZES[found[2]]) if found else None


def seconds(value: object) -> float | None:
    """Seconds of 168h, 1h30m or a number; None if it is no duration."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if 0 <= value < 2**40 else None
    if not isinstance(value, str) or not _DURATION.fullmatch(value):
        return None
    return sum(float(number) * _TIMES[unit] for number, unit in _PART.findall(value))


def human(size_in_bytes: float) -> str:
    """Bytes for people, three digits."""
    left = float(size_in_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(left) < 1024:
            return f"{left:.0f} {unit}" if unit == "B" else f"{left:.3g} {unit}"
        left /= 1024
    return f"{left:.3g} TiB" if left < 1024 else f"{left / 1024:.3g} PiB"
