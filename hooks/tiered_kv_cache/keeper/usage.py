"""What lies on the volume, as far as the tree tells. statfs is not asked: of a shared pool it tells the whole pool."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .table import BLOCK, Fingerprint, Table


@dataclass
class Usage:
    """``objects`` files of ``apparent`` bytes in ``blocks`` of 512 bytes; all the rest in ``other_``."""

    objects: int = 0
    apparent: int = 0
    blocks: int = 0
    other_files: int = 0
    other_blocks: int = 0
    other_apparent: int = 0

    @property
    def files(self) -> int:
        """All files."""
        return self.objects + self.other_files


@dataclass(frozen=True)
class Accounting:
    """``by_blocks``: what a file takes, so that a sparse file is small; else its length, where a filesystem has no blocks."""

    by_blocks: bool = True

    def charge(self, size: int, blocks: int) -> int:
        """Bytes that count."""
        return blocks * BLOCK if self.by_blocks else size

    def used(self, usage: Usage) -> int:
        """Bytes that count, of all files."""
        if self.by_blocks:
            return (usage.blocks + usage.other_blocks) * BLOCK
        return usage.apparent + usage.other_apparent


def of(found: Iterable[Fingerprint]) -> Usage:
    """Usage of fingerprints."""
    total = Usage()
    for f in found:
        strange = f.strangers.values()
        total.objects += f.objects
        total.apparent += f.size
        total.blocks += f.blocks
        total.other_files += f.tmp_files + f.untracked + f.plain_files + sum(s.count for s in strange)
        total.other_blocks += f.tmp_blocks + f.untracked_blocks + f.plain_blocks + sum(s.blocks for s in strange)
        total.other_apparent += f.tmp_size + f.untracked_size + f.plain_size + sum(s.size for s in strange)
    return total


def of_tenant(table: Table, lob: str) -> Usage:
    """Usage of a line of business, with what is strange above its fingerprints."""
    total = of(table.of(lob))
    for strange in table.strangers.get(lob, {}).values():
        total.other_files += strange.count
        total.other_blocks += strange.blocks
        total.other_apparent += strange.size
    return total
