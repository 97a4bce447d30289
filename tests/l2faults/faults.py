"""Faults to choose from, and the choice."""

from __future__ import annotations

import random
from collections.abc import Callable

from faultfs.client import Fault, Faults

OBJECTS, TMP = "**/objects/**", "**/tmp/**"

Switch = Callable[[Faults, float], Fault]
"""Switches a fault on with a probability for each operation."""

MENU: dict[str, Switch] = {
    "eio read": lambda f, p: f.eio("read", OBJECTS, probability=p),
    "eio write": lambda f, p: f.eio("write", TMP, probability=p),
    "eio close": lambda f, p: f.eio("flush", TMP, probability=p),
    "eio all": lambda f, p: f.error("EIO", "*", "**", probability=p / 3),
    "enospc": lambda f, p: f.enospc(probability=p),
    "edquot": lambda f, p: f.error("EDQUOT", "write create", "**", probability=p),
    "read only": lambda f, p: f.read_only(),
    "eacces": lambda f, p: f.eacces(probability=p),
    "enotconn": lambda f, p: f.enotconn(),
    "estale": lambda f, p: f.estale("open read stat", OBJECTS, probability=p),
    "stale handles": lambda f, p: f.stale_handles(),
    "hang read": lambda f, p: f.hang("read", OBJECTS, probability=p),
    "hang write": lambda f, p: f.hang("write", TMP, probability=p),
    "hang rename": lambda f, p: f.hang("rename", "**", probability=p, then="EIO"),
    "hang stat": lambda f, p: f.hang("stat", OBJECTS, probability=p / 3),
    "hang open": lambda f, p: f.hang("open create", "**", probability=p / 3, then="ENOTCONN"),
    "slow": lambda f, p: f.delay("read write", "**", ms=20, ms_per_mb=30, probability=p),
    "slow stat": lambda f, p: f.delay("stat open", "**", ms=5, probability=p),
    "lost tail": lambda f, p: f.lost_tail(TMP, keep=0.5, probability=p),
    "ignored write": lambda f, p: f.ignore("write", TMP, probability=p / 3),
    "cut": lambda f, p: f.cut(TMP, keep=0.7, probability=p),
    "short read": lambda f, p: f.short_read(OBJECTS, keep=0.5, probability=p),
    "flip": lambda f, p: f.flip(OBJECTS, bits=1, probability=p),
    "zeros": lambda f, p: f.zeros(OBJECTS, keep=0.6, probability=p),
    "stale": lambda f, p: f.stale(0.3),
    "vanish": lambda f, p: f.vanish(OBJECTS, probability=p),
    "vanish later": lambda f, p: f.vanish(OBJECTS, seconds=0.02, probability=p),
    "no unlink": lambda f, p: f.eio("unlink", probability=p),
    "ignored unlink": lambda f, p: f.ignore("unlink", probability=p),
    "ignored rename": lambda f, p: f.ignore("rename", probability=p / 3),
    "no rename": lambda f, p: f.error("ENOSYS", "rename"),
    "no directories": lambda f, p: f.enospc("mkdir", probability=p),
}


TOGETHER = 3
_ORDER = random.Random(0).sample(sorted(MENU), len(MENU))


def choose(chance: random.Random, turn: int) -> list[str]:
    """Names of the faults of a run: each once in the first turns, then any up to three."""
    planned = _ORDER[turn * TOGETHER : (turn + 1) * TOGETHER]
    return planned or chance.sample(_ORDER, chance.randint(0, TOGETHER))


def switch_on(faults: Faults, names: list[str], chance: random.Random) -> None:
    """All of them, each with a probability of its own."""
    for name in names:
        MENU[name](faults, chance.choice([0.1, 0.4, 1.0]))
