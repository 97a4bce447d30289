"""What goes because of its age: objects past their TTL, and those of fingerprints that nobody has used for the grace."""

from __future__ import annotations

from . import plan
from .context import Context
from .plan import Victim

LEAST = 1000
"""Objects that a round may always remove for their age; above, a fraction of all."""


def due(x: Context, most: int) -> tuple[list[Victim], str] | None:
    """Objects that are due, at most ``most``, and the reason; None if there are none, or times cannot be trusted."""
    if not x.clock.steady:
        return None
    now, settings = x.clock.now(), x.settings
    latest = now - int(settings.grace.object)
    charge = x.accounting.charge
    if settings.grace.orphan > 0:
        orphans = [f for f in x.table.of() if f.objects and f.newest < now - settings.grace.orphan]
        if orphans and (victims := plan.oldest(orphans, charge, latest, most)):
            return victims, "orphan"
    if settings.ttl > 0:
        victims = plan.oldest(x.table.of(), charge, min(latest, now - int(settings.ttl) - 1), most)
        if victims:
            return victims, "ttl"
    return None


def allowance(x: Context) -> int:
    """How many objects one round may remove for their age."""
    return max(LEAST, int(x.settings.most_fraction * x.table.objects))
