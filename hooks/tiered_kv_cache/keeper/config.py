"""The keeper's settings: a YAML or JSON file that the chart renders, all faults told together."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ..findings import UsageError
from . import layout, units


@dataclass(frozen=True)
class Limit:
    """What a scope may hold: bytes and files, 0 for no limit."""

    bytes: int = 0
    files: int = 0


@dataclass(frozen=True)
class Tenant:
    """Limits of a line of business and of its models."""

    limit: Limit = Limit()
    models: dict[str, Limit] = field(default_factory=dict)


@dataclass(frozen=True)
class Grace:
    """Seconds that have to pass before something is removed."""

    object: float = 30.0
    """Since an object's last use: nothing younger is ever evicted."""
    tmp: float = 900.0
    """Since the last sign of life of a writer: then its temporary files go."""
    orphan: float = 7 * 86400.0
    """Since the last sign of life of a fingerprint: then its objects go."""
    ghost: float = 600.0
    """Between the first and the last of the failed reads of a file."""
    directory: float = 3600.0
    """Since an empty directory was changed."""
    nfs: float = 7 * 86400.0
    """Of remains of files that were deleted while open on NFS."""


@dataclass(frozen=True)
class Pool:
    """How the keeper learns whether the pool is whole. Without any of these it does not know, and removes no ghost.

    ``urls``: metrics of the pool's masters; ``workers``: how many live workers make it whole. ``file``: its first word is
    ``ok`` when it is. ``lag``: seconds until the space of deleted files comes back.
    """

    urls: tuple[str, ...] = ()
    workers: int = 0
    file: str = ""
    lag: float = 4.0


@dataclass(frozen=True)
class Guard:
    """Free space and inodes of the filesystem, as statfs says. Only for a volume that nobody else's statfs describes."""

    bytes: int = 0
    files: int = 0


@dataclass(frozen=True)
class LeaseSettings:
    """The Kubernetes Lease; without a name only the mark in the tree tells two keepers apart."""

    name: str = ""
    namespace: str = ""
    seconds: float = 30.0


@dataclass(frozen=True)
class Settings:
    """All of it. Sizes in bytes, times in seconds, rates per second."""

    mount: str
    volume: Limit = Limit()
    tenants: dict[str, Tenant] = field(default_factory=dict)
    high: float = 0.85
    low: float = 0.70
    ttl: float = 0.0
    """Without a use for that long, an object goes; 0: never."""
    grace: Grace = Grace()
    operations: float = 2000.0
    """File operations a second."""
    deletes: float = 200.0
    """Objects removed a second."""
    sweep: float = 600.0
    """Seconds between two beginnings of a sweep."""
    tick: float = 5.0
    """Seconds between two readings of the use logs."""
    record: float = 60.0
    """Seconds between two writings of the record of uses."""
    most_fraction: float = 0.3
    """Part of the objects that a round may remove because of their age; more waits for the next one, and is told."""
    most_objects: int = 4_000_000
    """Objects kept in memory; more are counted, not chosen."""
    deadline: float = 30.0
    """Of one file operation; then the volume counts as hung."""
    give_up: float = 120.0
    """Of one file operation; then the keeper gives its lease back and ends."""
    probes: int = 20
    """Objects of which a first block is read each tick, to find ghosts."""
    ghost_reads: int = 3
    """Failed reads, in different rounds, before a file is a ghost."""
    port: int = 9400
    pool: Pool = Pool()
    guard: Guard = Guard()
    lease: LeaseSettings = LeaseSettings()


def load(path: str, mount: str = "") -> Settings:
    """Read a file; raises UsageError. ``mount``: instead of the file's."""
    try:
        raw = yaml.safe_load(Path(path).read_bytes())
    except OSError as err:
        raise UsageError(f"--config {path}: {err.strerror}. Fix: give the file that the chart renders") from err
    except (yaml.YAMLError, ValueError) as err:
        line = " ".join(str(err).split())
        raise UsageError(
            f"--config {path} is neither YAML nor JSON: {line}. Fix: give the file that the chart renders"
        ) from None
    return parse(raw if raw is not None else {}, path, mount)


def parse(raw: object, source: str, mount: str = "") -> Settings:
    """Settings of a parsed file; raises UsageError with every fault, each naming ``source`` and its key."""
    top = _Reader(raw, source, "")
    given = top.text("mount", mount)
    grace, sweep, evict = top.map("grace"), top.map("sweep"), top.map("evict")
    pool, guard, lease = top.map("pool"), top.map("guard"), top.map("lease")
    usual = Settings(mount="")
    settings = Settings(
        mount=mount or given,
        volume=top.limit(),
        tenants=_tenants(top.map("linesOfBusiness")),
        high=top.fraction("highWatermark", usual.high),
        low=top.fraction("lowWatermark", usual.low),
        ttl=top.seconds("ttl", usual.ttl),
        grace=Grace(*(grace.seconds(k, getattr(usual.grace, k)) for k in Grace.__dataclass_fields__)),
        operations=sweep.number("operationsPerSecond", usual.operations),
        sweep=sweep.seconds("interval", usual.sweep),
        most_objects=int(sweep.number("mostObjects", usual.most_objects)),
        deletes=evict.number("filesPerSecond", usual.deletes),
        most_fraction=evict.fraction("mostFractionByAge", usual.most_fraction),
        tick=top.seconds("tick", usual.tick),
        record=top.seconds("recordInterval", usual.record),
        deadline=top.seconds("operationDeadline", usual.deadline),
        give_up=top.seconds("giveUpAfter", usual.give_up),
        probes=int(pool.number("probesPerTick", usual.probes)),
        ghost_reads=int(pool.number("failedReads", usual.ghost_reads)),
        port=int(top.number("port", usual.port)),
        pool=Pool(pool.texts("urls"), int(pool.number("workers", 0)), pool.text("file", ""), pool.seconds("lag", usual.pool.lag)),
        guard=Guard(guard.size("freeBytes"), int(guard.number("freeFiles", 0))),
        lease=LeaseSettings(lease.text("name", ""), lease.text("namespace", ""), lease.seconds("duration", usual.lease.seconds)),
    )  # fmt: skip
    _check(settings, top)
    top.done()
    return settings


def _tenants(found: _Reader) -> dict[str, Tenant]:
    tenants = {}
    for name in found.keys():  # noqa: SIM118
        if not layout.TENANT.fullmatch(name):
            found.fault(name, name, "no line of business", "use a-z, 0-9 and '-'")
        one = found.map(name)
        models = one.map("models")
        limits = {}
        for model in models.keys():  # noqa: SIM118
            if not layout.MODEL.fullmatch(model):
                models.fault(model, model, "no model's key", "use the key of models in the values")
            limits[model] = models.map(model).limit()
        tenants[name] = Tenant(one.limit(), limits)
    return tenants


def _check(settings: Settings, top: _Reader) -> None:
    if not settings.mount.startswith("/"):
        top.fault("mount", settings.mount, "no absolute path", "give the mount path of the volume")
    if settings.low >= settings.high:
        top.fault("lowWatermark", settings.low, f"not below highWatermark ({settings.high:g})", "lower it, 0.70 say")
    if settings.lease.name and settings.lease.seconds < 6:
        top.fault("lease.duration", settings.lease.seconds, "too short to renew in time", "give at least 6s")
    if settings.give_up < settings.deadline:
        top.fault("giveUpAfter", settings.give_up, f"below operationDeadline ({settings.deadline:g} s)", "raise it")
    for key, value in (("operationDeadline", settings.deadline), ("tick", settings.tick)):
        if value <= 0:
            top.fault(key, value, "not above 0", "give a time such as 5s")
    if settings.pool.urls and not settings.pool.workers:
        top.fault(
            "pool.workers", 0, "no number of workers, so nobody can tell whether one is missing", "give the number"
        )
    volume = settings.volume.bytes
    for name, tenant in settings.tenants.items():
        if volume and tenant.limit.bytes > volume:
            top.fault(
                f"linesOfBusiness.{name}.quota", tenant.limit.bytes, f"above the volume's quota ({volume})", "lower it"
            )
    if not 0 <= settings.port <= 65535:
        top.fault("port", settings.port, "no port", "give 0 (none) to 65535")


class _Reader:
    """Takes values out of a mapping; what nobody took is unknown."""

    def __init__(self, raw: object, source: str, at: str, faults: list[str] | None = None) -> None:
        self._source, self._at = source, at
        self._faults = [] if faults is None else faults
        self._children: list[_Reader] = []
        self._taken: set[str] = set()
        self._raw: dict[str, Any] = {}
        if isinstance(raw, dict):
            self._raw = {str(k): v for k, v in raw.items()}
        else:
            self.fault("", raw, "no mapping", "give keys and values")

    def fault(self, key: str, value: object, what: str, fix: str) -> None:
        where = ".".join(p for p in (self._at, key) if p) or "the file"
        self._faults.append(f"{self._source}: {where}: {str(value)[:80]!r} is {what}. Fix: {fix}")

    def keys(self) -> list[str]:
        return list(self._raw)

    def map(self, key: str) -> _Reader:
        value = self._take(key)
        child = _Reader({} if value is None else value, self._source, f"{self._at}.{key}".strip("."), self._faults)
        self._children.append(child)
        return child

    def limit(self) -> Limit:
        return Limit(self.size("quota"), int(self.number("files", 0)))

    def text(self, key: str, usual: str) -> str:
        value = self._take(key)
        if value is not None and not isinstance(value, str):
            self.fault(key, value, "no text", "quote it")
            return usual
        return usual if value is None else value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._take(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            self.fault(key, value, "no list of texts", "give a list")
            return ()
        return tuple(value)

    def number(self, key: str, usual: float) -> float:
        value = self._take(key)
        if value is None:
            return usual
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53:
            self.fault(key, value, "no number of at least 0", "give a number")
            return usual
        return value

    def fraction(self, key: str, usual: float) -> float:
        value = self.number(key, usual)
        if not 0 < value <= 1:
            self.fault(key, value, "not above 0 and at most 1", f"give a fraction such as {usual:g}")
            return usual
        return value

    def size(self, key: str) -> int:
        value = self._take(key)
        found = units.size(0 if value is None else value)
        if found is None:
            self.fault(key, value, "no quantity", "write it as 80Gi or 500M")
        return found or 0

    def seconds(self, key: str, usual: float) -> float:
        value = self._take(key)
        found = units.seconds(usual if value is None else value)
        if found is None:
            self.fault(key, value, "no duration", "write it as 90s, 15m or 168h")
        return usual if found is None else found

    def done(self) -> None:
        self._unknown()
        if self._faults:
            raise UsageError("\n".join(self._faults))

    def _unknown(self) -> None:
        for key in self._raw.keys() - self._taken:
            self.fault(key, self._raw[key], "the value of an unknown key", "see docs/keeper.md for the keys")
        for child in self._children:
            child._unknown()

    def _take(self, key: str) -> Any:
        self._taken.add(key)
        return self._raw.get(key)
