"""What a measurement means for the engines: thresholds are those of the adapter that will use the volume."""

from __future__ import annotations

from ..findings import Finding
from .area import Read, Written
from .checks import FAIL, PASS, WARN, Check
from .job import Job

MIB = 1 << 20
STORE_BASE_MS, STORE_MS_PER_MIB = 10_000.0, 50.0
"""Within which the adapter must have stored an object (docs/l2.md)."""
SEEN_SECONDS = 5.0
"""What another node sees later than this is hit late."""


def amount(size: float) -> str:
    """'9.0 MB'."""
    for unit in ("B", "kB", "MB", "GB", "TB", "PB"):
        if abs(size) < 1000 or unit == "PB":
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    raise AssertionError


def rate(size: int, seconds: float) -> str:
    """'120 MB/s'."""
    return f"{size / 1e6 / max(seconds, 1e-6):.0f} MB/s"


def write(found: Written) -> Check:
    """The store of an object."""
    seconds = found.write + found.sync + found.rename
    shown = f"{seconds * 1e3:.0f} ms (fsync {found.sync * 1e3:.0f}, rename {found.rename * 1e3:.0f}), {rate(found.size, seconds)}"
    limit = (STORE_BASE_MS + STORE_MS_PER_MIB * found.size / MIB) / 1e3
    if seconds <= limit:
        return Check("write", PASS, shown)
    what = (
        f"slow: storing {amount(found.size)} took {seconds:.1f} s, and the engines give a store up after {limit:.1f} s"
    )
    return Check("write", WARN, shown, Finding(what, "use a faster volume; engines go on, with fewer hits"))


def read(job: Job, found: Read, wanted: dict[str, object]) -> Check:
    """The load of what the other one stored. ``wanted``: its size and digest, as it told."""
    shown = f"{found.whole * 1e3:.0f} ms (first byte {found.first * 1e3:.0f}), {rate(found.size, found.whole)}"
    if (found.size, found.digest) != (wanted.get("size"), wanted.get("digest")):
        size = (
            f"{found.size} bytes instead of {wanted.get('size')}" if found.size != wanted.get("size") else "other bytes"
        )
        what = f"wrong bytes: the file that the other Pod stored is read here with {size}"
        return Check(
            "read", FAIL, shown, Finding(what, "do not use this volume; check its server, client and mount options")
        )
    limit = (job.load_base_ms + job.load_ms_per_mib * found.size / MIB) / 1e3
    if found.whole <= limit:
        return Check("read", PASS, shown)
    what = f"slow: reading {amount(found.size)} took {found.whole:.2f} s, and the engines give a load up after {limit:.2f} s"
    fix = "use a faster volume, or raise cache.l2.settings.loadMsPerMiB where computing a chunk takes longer still"
    return Check("read", WARN, shown, Finding(what, fix))


def lookup(job: Job, seconds: float) -> Check:
    """One question for a name's attributes."""
    shown = f"{seconds * 1e3:.1f} ms"
    if seconds * 1e3 <= job.lookup_ms:
        return Check("look-up", PASS, shown)
    what = f"slow: asking for one file took {shown}, and a look-up of a whole prompt may take {job.lookup_ms:g} ms"
    fix = "use a volume with faster metadata, or raise cache.l2.settings.lookupDeadlineMs"
    return Check("look-up", WARN, shown, Finding(what, fix))


def seen(seconds: float) -> Check:
    """How late another node sees a new file."""
    shown = f"{seconds * 1e3:.0f} ms"
    if seconds <= SEEN_SECONDS:
        return Check("seen after", PASS, shown)
    what = f"a new file is seen by the other Pod only after {seconds:.1f} s: until then its blocks are computed again there"
    fix = "shorten the client's attribute cache (NFS: acdirmax, lookupcache=pos)"
    return Check("seen after", WARN, shown, Finding(what, fix))


def space(job: Job, size: int, free: int, total: int, files: int) -> Check:
    """Free bytes and files of the volume, for a file of ``size``; 0 bytes in all: it does not say."""
    if total == 0:
        return Check("space", PASS, "the volume does not say")
    shown = f"{amount(free)} free of {amount(total)}"
    if is_full(job, free, size):
        what = f"almost full: {shown}"
        return Check("space", WARN, shown, Finding(what, full_fix()))
    if 0 < files < 1000:
        what = f"only {files} more files fit on the volume"
        return Check("space", WARN, shown, Finding(what, "give the filesystem more inodes, or remove files of others"))
    if total < job.quota:
        what = f"the volume holds {amount(total)}, less than the keeper's quota of {amount(job.quota)}: it is full before the keeper evicts"
        return Check(
            "space", WARN, shown, Finding(what, "lower l2.keeper.quota (l2.volume.size), or give a larger volume")
        )
    return Check("space", PASS, shown)


def is_full(job: Job, free: int, size: int) -> bool:
    """Whether so little is free that a store may fail: a pool's worker with less than a block takes nothing."""
    return free < max(2 * size, 4 * job.block)


def full_fix() -> str:
    """The same wherever a volume is full."""
    return (
        "nothing at once: engines go on, and the keeper makes room (l2.keeper.quota); if it stays so, lower the quotas "
        "below what the volume holds, or make it larger"
    )
