"""How much has to go, and from whom. A scope is emptied from its high watermark down to its low one, then left alone.

Order: each model's quota, each line of business' quota, the volume's. What the volume has too much is taken from the line
of business that uses the largest part of its own share, so that one that fills the volume never costs another one a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import usage
from .config import Limit
from .context import Context
from .table import Fingerprint


@dataclass(frozen=True)
class Need:
    """Objects of ``scope`` have to go: bytes and files. ``why``: for metrics; ``whose``: for people."""

    scope: Sequence[Fingerprint]
    bytes: float
    files: float
    why: str
    whose: str


@dataclass(frozen=True)
class _Scope:
    name: str
    fingerprints: Sequence[Fingerprint]
    limit: Limit
    bytes: int
    files: int


class Policy:
    """Remembers which scopes are being emptied."""

    def __init__(self, context: Context) -> None:
        self._x = context
        self.draining: set[str] = set()

    def need(self) -> Need | None:
        """What to remove next, or None. Asked again after each batch."""
        for scope in self._scopes():
            too_much = self._too_much(scope)
            if too_much is not None:
                return Need(scope.fingerprints, *too_much, "quota", scope.name)
        return self._volume()

    def levels(self) -> list[tuple[str, int, int, int, int]]:
        """Name, bytes used, quota, files used, limit of files of each scope, for status."""
        scopes = [*self._scopes(), self._whole()]
        return [(s.name, s.bytes, s.limit.bytes, s.files, s.limit.files) for s in scopes]

    def tenants(self) -> list[str]:
        """Lines of business that are there or have a quota."""
        table = self._x.table
        return sorted(
            {f.lob for f in table.fingerprints.values()}
            | (table.strangers.keys() - {""})
            | self._x.settings.tenants.keys()
        )

    def _scopes(self) -> list[_Scope]:
        x, scopes = self._x, []
        for lob in sorted(x.settings.tenants):
            tenant = x.settings.tenants[lob]
            for model in sorted(tenant.models):
                found = x.table.of(lob, model)
                of = usage.of(found)
                scopes.append(_Scope(f"{lob}/{model}", found, tenant.models[model], x.accounting.used(of), of.files))
            of = usage.of_tenant(x.table, lob)
            scopes.append(_Scope(lob, x.table.of(lob), tenant.limit, x.accounting.used(of), of.files))
        return scopes

    def _whole(self) -> _Scope:
        x = self._x
        # "" is what lies beside the lines of business.
        each = [usage.of_tenant(x.table, lob) for lob in [*self.tenants(), ""]]
        return _Scope(
            "volume",
            x.table.of(),
            x.settings.volume,
            sum(x.accounting.used(u) for u in each),
            sum(u.files for u in each),
        )

    def _too_much(self, scope: _Scope) -> tuple[float, float] | None:
        settings = self._x.settings
        pairs = ((scope.bytes, scope.limit.bytes), (scope.files, scope.limit.files))
        if any(limit and used > settings.high * limit for used, limit in pairs):
            if scope.name not in self.draining:
                self._x.events.say(
                    "QuotaReached", scope.name,
                    f"{scope.name}: {scope.bytes} bytes in {scope.files} files, above {settings.high:g} of its quota; the "
                    f"least recently used go down to {settings.low:g}. Fix: raise the quota if hits are lost by it",
                )  # fmt: skip
            self.draining.add(scope.name)
        over = [used - settings.low * limit if limit else 0.0 for used, limit in pairs]
        if scope.name in self.draining and max(over) > 0:
            return max(0.0, over[0]), max(0.0, over[1])
        self.draining.discard(scope.name)
        return None

    def _volume(self) -> Need | None:
        scope = self._whole()
        too_much = self._too_much(scope)
        if too_much is None:
            return None
        return self.spread(scope.name, *too_much, "quota")

    def spread(self, whose: str, need_bytes: float, need_files: float, why: str) -> Need | None:
        """Take from the line of business that uses most of its share, down to where the next one stands."""
        x = self._x
        in_bytes = need_bytes > 0
        used: dict[str, float] = {}
        for lob in self.tenants():
            of = usage.of_tenant(x.table, lob)
            if any(f.objects for f in x.table.of(lob)):
                used[lob] = x.accounting.used(of) if in_bytes else of.files
        if not used:
            return None
        shares = self._shares(list(used), in_bytes)
        need = need_bytes if in_bytes else need_files
        lob, take = highest(used, shares, need)
        return Need(x.table.of(lob), take if in_bytes else 0.0, 0.0 if in_bytes else take, why, f"{whose}, from {lob}")

    def _shares(self, lobs: list[str], in_bytes: bool) -> dict[str, float]:
        """A line of business' own quota; the others share what the volume's has left, in equal parts."""
        settings = self._x.settings
        volume = settings.volume.bytes if in_bytes else settings.volume.files
        own = {}
        for lob in lobs:
            tenant = settings.tenants.get(lob)
            own[lob] = (tenant.limit.bytes if in_bytes else tenant.limit.files) if tenant else 0
        free = [lob for lob in lobs if not own[lob]]
        rest = (volume - sum(own.values())) / len(free) if free else 0.0
        # Where quotas promise all of the volume, the others may still use what nobody does.
        least = max(1.0, volume / len(lobs) / 10) if volume else 1.0
        return {lob: float(own[lob]) or max(rest, least) for lob in lobs}


def highest(used: dict[str, float], shares: dict[str, float], need: float) -> tuple[str, float]:
    """Who gives first, and how much, so that in the end all who gave stand at one level of their shares."""
    order = sorted(used, key=lambda lob: (-used[lob] / shares[lob], lob))
    total = share = level = 0.0
    for at, lob in enumerate(order):
        total, share = total + used[lob], share + shares[lob]
        level = max(0.0, (total - need) / share)
        if at + 1 == len(order) or level >= used[order[at + 1]] / shares[order[at + 1]]:
            break
    first = order[0]
    return first, min(need, max(1.0, used[first] - level * shares[first]))
