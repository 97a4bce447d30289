"""What the keeper did and saw since its start, for metrics, status and the report of one round."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

Key = tuple[str, ...]


@dataclass
class Counts:
    """Counters. Keys are label values, never text of tenants beyond checked names."""

    removed: Counter[Key] = field(default_factory=Counter)
    """Objects, by line of business, model and reason: quota, ttl, orphan, space, ghost."""
    removed_bytes: Counter[Key] = field(default_factory=Counter)
    """The same in bytes."""
    cleaned: Counter[Key] = field(default_factory=Counter)
    """Other files and directories, by line of business and kind: tmp, bad, nfs, log, directory."""
    spared: Counter[Key] = field(default_factory=Counter)
    """Objects that were to go and did not, by reason: used, changed, gone, error."""
    errors: Counter[Key] = field(default_factory=Counter)
    """Failed file operations, by errno's name."""
    logs: Counter[Key] = field(default_factory=Counter)
    """Use logs read, by line of business and kind: good, bad (a line did not fit), skewed (clock), large."""
    marked: Counter[Key] = field(default_factory=Counter)
    """Uses of objects read from logs, by line of business."""
    clamped: Counter[Key] = field(default_factory=Counter)
    """File times outside reason, by past or future."""
    sweeps: int = 0
    sweep_seconds: float = 0.0
    """Of the last whole one."""
    ghosts_kept: int = 0
    """Ghosts that stay because the pool is not known to be whole."""
