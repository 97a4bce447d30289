"""Damage to the bytes of one read."""

from __future__ import annotations

import random


def kept(size: int, fraction: float) -> int:
    """Bytes of a short answer: at least one unless the fraction is 0, since none means the end of the file."""
    return min(size, max(1, int(size * fraction))) if fraction else 0


def blank(buffer: memoryview, fraction: float) -> None:
    """Zeros after this fraction."""
    begin = int(len(buffer) * fraction)
    buffer[begin:] = bytes(len(buffer) - begin)


def flip(buffer: memoryview, bits: int, chance: random.Random) -> None:
    """Turn over so many bits, each another one."""
    total = len(buffer) * 8
    for bit in chance.sample(range(total), min(bits, total)):
        buffer[bit // 8] ^= 1 << bit % 8
