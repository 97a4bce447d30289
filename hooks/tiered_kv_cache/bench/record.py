"""What was measured, request by request, and its way to a file and back. docs/bench.schema.json says what each field means."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from ..findings import UsageError

FORMAT = 1
KIND = "tiered-kv-cache bench"
COLD, L2, L1, L0, CONTROL = "cold", "l2", "l1", "l0", "control"
OWN = "own"
"""From L2 by the Pod that stored it, with its L0 and L1 emptied: all that an L2 which Pods do not share can give."""
WARM, OTHER = "warm", "other"
"""The same prompt again at the same place, and at another, where no counter can tell which tier answers."""
FIRST, AGAIN = "first", "again"
"""A conversation as it happens, and the same one at another place."""
SHARED = "shared"
CLOSED, OPEN = "closed", "open"
Json = dict[str, Any]


@dataclass(frozen=True)
class Key:
    """What samples have in common that are put together. Unused parts are None.

    ``size``: prompt tokens wanted. ``turn``: from 1. ``loop`` and ``load``: closed with so many at once, or open with so many a second.
    """

    experiment: str
    condition: str
    size: int | None = None
    turn: int | None = None
    loop: str | None = None
    load: float | None = None


@dataclass
class Tokens:
    """Prompt tokens by the tier that gave them; ``either``: L1 or L2, where nothing tells which."""

    l0: float = 0
    l1: float = 0
    l2: float = 0
    either: float = 0
    computed: float = 0


@dataclass
class Sample:
    """One request. Times in milliseconds; ``at_s``: seconds since the start; ``order``: its number among all.

    ``tokens``: by counters before and after, None where there are none or others ran beside it. ``proven``: whether they
    show the tier that the condition names; None where they cannot. ``error``: why there is no time.
    """

    key: Key
    order: int
    at_s: float
    place: str
    repetition: int = 0
    ttft_ms: float | None = None
    total_ms: float | None = None
    gaps_ms: list[float] = field(default_factory=list)
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    tokens: Tokens | None = None
    proven: bool | None = None
    error: str = ""


@dataclass
class Level:
    """A stretch with many requests at once: counters of all places together, and requests a second."""

    key: Key
    seconds: float
    requests: int
    errors: int
    output_tokens: int
    tokens: Tokens | None = None
    saturated: bool = False
    """Open loop: fewer answers came than requests were due."""


@dataclass
class Gap:
    """What was not measured, and why."""

    experiment: str
    what: str
    why: str


@dataclass
class Place:
    """Where requests went. ``path_ms``: median of a request that computes nothing, which every TTFT contains."""

    name: str
    node: str
    path_ms: float | None
    images: dict[str, str] = field(default_factory=dict)


@dataclass
class Record:
    """A whole run."""

    variant: str
    started: str
    settings: Json
    client: Json
    model: Json
    places: list[Place] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    levels: list[Level] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    seconds: float = 0

    @property
    def seed(self) -> int:
        """Of orders and resampling."""
        return int(self.settings.get("seed", 1))

    def of(self, experiment: str) -> list[Sample]:
        """Samples of an experiment that have a time, and whose tier is not disproven."""
        return [s for s in self.samples if s.key.experiment == experiment and usable(s)]

    def document(self) -> Json:
        """As JSON, without what is worked out from it."""
        return {"kind": KIND, "format": FORMAT} | asdict(self)


def usable(sample: Sample) -> bool:
    """Whether a sample counts for its condition: it has a time, and no counter says that another tier answered."""
    return sample.ttft_ms is not None and sample.proven is not False


T = TypeVar("T")


def load(path: str) -> Record:
    """Read a result.json; raises UsageError."""
    fix = "Fix: give a result.json that `bench run` wrote"
    try:
        raw = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as err:
        raise UsageError(f"{path} cannot be read: {err}. {fix}") from err
    if not isinstance(raw, dict) or raw.get("kind") != KIND:
        raise UsageError(f"{path} is no result of bench. {fix}")
    if raw.get("format") != FORMAT:
        raise UsageError(f"{path} has format {raw.get('format')}, not {FORMAT}. Fix: use the version that wrote it")
    try:
        return _make(Record, raw, places=_all(Place), samples=_all(_sample), levels=_all(_level), gaps=_all(Gap))
    except (TypeError, KeyError, AttributeError) as err:
        raise UsageError(f"{path} is not whole: {err}. {fix}") from err


def _sample(**raw: Any) -> Sample:
    return _make(Sample, raw, key=lambda k: Key(**k), tokens=lambda t: Tokens(**t) if t else None)


def _level(**raw: Any) -> Level:
    return _make(Level, raw, key=lambda k: Key(**k), tokens=lambda t: Tokens(**t) if t else None)


def _make(kind: Callable[..., T], raw: Json, **parts: Callable[[Any], Any]) -> T:
    known = {f.name for f in fields(kind)}  # type: ignore[arg-type]
    return kind(**{k: parts[k](v) if k in parts else v for k, v in raw.items() if k in known})


def _all(kind: Callable[..., T]) -> Callable[[list[Json]], list[T]]:
    return lambda raw: [kind(**each) for each in raw]
