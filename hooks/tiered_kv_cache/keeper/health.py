"""Is the pool whole? Files of a missing worker cannot be read, but come back with it; so do all after a change of master."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx

from .config import Pool

CALL_SECONDS = 3.0
MOST_BYTES = 4 << 20
_SAMPLE = re.compile(r"^([A-Za-z_:][\w:]*)(\{[^}]*\})?\s+([-+0-9.eE]+|NaN)", re.M)


@dataclass(frozen=True)
class Health:
    """``whole``: True, False, or None where nobody knows. ``mark`` changes with the pool's leader."""

    whole: bool | None
    why: str
    mark: str = ""


class Steady:
    """Since when the pool has been whole without a break, under one leader."""

    def __init__(self, ask: Callable[[], Health], clock: Callable[[], float] = time.monotonic) -> None:
        self._ask, self._clock = ask, clock
        self._since: float | None = None
        self._mark = ""
        self.last = Health(None, "not asked yet")

    def ask(self) -> float:
        """Seconds of unbroken wholeness as far as was seen; 0 if it is broken, or nobody knows."""
        found = self.last = self._ask()
        if found.whole is not True:
            self._since = None
            return 0.0
        if self._since is None or found.mark != self._mark:
            self._since, self._mark = self._clock(), found.mark
        return self._clock() - self._since


def source(pool: Pool) -> Callable[[], Health]:
    """How to ask, by the settings."""
    if pool.urls:
        return lambda: from_masters(pool.urls, pool.workers)
    if pool.file:
        return lambda: from_file(pool.file)
    return lambda: Health(None, "no pool.urls and no pool.file are set")


def from_file(path: str) -> Health:
    """The first word of a file: ``ok`` is whole, anything else is not; the rest of the text is its leader's mark."""
    try:
        with Path(path).open("rb") as file:
            words = file.read(4096).decode("utf-8", "replace").split(maxsplit=1)
    except OSError as err:
        return Health(None, f"{path}: {err.strerror}")
    if not words:
        return Health(None, f"{path} is empty")
    return Health(words[0] == "ok", f"{path} says {words[0][:40]}", words[1] if len(words) > 1 else "")


def from_masters(urls: tuple[str, ...], workers: int) -> Health:
    """Metrics of Curvine's masters: only the leader knows workers, so the largest answer counts; its term is the mark."""
    live = absent = -1.0
    term = ""
    problems = []
    for url in urls:
        try:
            samples = _get(url)
        except (httpx.HTTPError, ValueError) as err:
            problems.append(f"{url}: {err or type(err).__name__}")
            continue
        found = samples.get('worker_num{tag="live"}')
        if found is None:
            problems.append(f"{url} has no worker_num")
        elif found > live:
            live = found
            absent = sum(samples.get(f'worker_num{{tag="{tag}"}}', 0.0) for tag in ("lost", "blacklist"))
            term = str(samples.get("journal_term", ""))
    if live < 0:
        return Health(None, "; ".join(problems)[:300])
    if live < workers or absent > 0:
        return Health(False, f"{live:g} of {workers} workers are live, {absent:g} lost or blacklisted", term)
    return Health(True, f"{live:g} workers are live", term)


def _get(url: str) -> dict[str, float]:
    # The pool is never behind a proxy.
    with httpx.Client(trust_env=False, timeout=CALL_SECONDS) as client, client.stream("GET", url) as answer:
        answer.raise_for_status()
        data = b""
        for part in answer.iter_bytes():
            data += part
            if len(data) > MOST_BYTES:
                raise ValueError("more than 4 MiB")
    return {name + labels: float(value) for name, labels, value in _SAMPLE.findall(data.decode("utf-8", "replace"))}
