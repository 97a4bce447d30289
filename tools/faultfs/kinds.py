"""Which faults there are, what each can be told, and the check of a rule that somebody asks for."""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .globs import compiled

OPERATIONS = frozenset(
    "stat open open_write create read write flush release fsync truncate fallocate readdir mkdir unlink rmdir rename link symlink "
    "readlink chmod chown utime statfs".split()
)
"""`open_write` is an open for writing, which is an `open` too; `stat` is also the look-up of a name; `flush` is close(2)
and `release` the last close of an open file."""

CHANGES = frozenset("create mkdir unlink rmdir rename link symlink truncate".split())


def _fraction(value: object) -> str:
    return "" if _number(value) == "" and 0 <= float(str(value)) <= 1 else "a number from 0 to 1"


def _number(value: object) -> str:
    return "" if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else "a number >= 0"


def _count(value: object) -> str:
    return "" if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else "an integer >= 0"


def _errno(value: object) -> str:
    return "" if isinstance(value, str) and hasattr(errno, value) else "the name of an errno, such as EIO"


def _outcome(value: object) -> str:
    return "" if value == "proceed" or not _errno(value) else "`proceed` or the name of an errno"


@dataclass(frozen=True)
class Kind:
    """One kind of fault: operations it can meet, and its parameters with their defaults and checks."""

    allowed: frozenset[str]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    checks: Mapping[str, Any] = field(default_factory=dict)


def _on(*operations: str) -> frozenset[str]:
    return frozenset(operations)


KINDS: Mapping[str, Kind] = {
    # Answered instead of the operation.
    "error": Kind(OPERATIONS, {"errno": "EIO"}, {"errno": _errno}),
    # Held until the rule is released or removed; then it proceeds, or fails with this errno.
    "hang": Kind(OPERATIONS, {"then": "proceed"}, {"then": _outcome}),
    # ms an operation, ms a MB (10^6 bytes) of one stream, and MB/s of all streams of the rule together (0 = no bound).
    "delay": Kind(
        OPERATIONS,
        {"ms": 0, "ms_per_mb": 0, "total_mb_s": 0},
        {"ms": _number, "ms_per_mb": _number, "total_mb_s": _number},
    ),
    # Says that it was done and does nothing.
    "ignore": Kind(_on("utime", "chmod", "chown", "fsync", "unlink", "rmdir", "truncate", "write", "rename")),
    # Says that all was written and stores this fraction of each write.
    "lost_tail": Kind(_on("write"), {"keep": 0.5}, {"keep": _fraction}),
    # The file is cut to this fraction at its last close.
    "cut": Kind(_on("release"), {"keep": 0.5}, {"keep": _fraction}),
    # A read returns this fraction of what was asked for (never 0 bytes unless keep is 0, which looks like the end of the file).
    "short_read": Kind(_on("read"), {"keep": 0.5}, {"keep": _fraction}),
    # So many bits of each read are turned over.
    "flip": Kind(_on("read"), {"bits": 1}, {"bits": _count}),
    # The part of each read after this fraction is zeros, as where a block was never written.
    "zeros": Kind(_on("read"), {"keep": 0.5}, {"keep": _fraction}),
    # Processes other than the one that made a change see the old entry and attributes for so long.
    "stale": Kind(CHANGES, {"seconds": 1.0}, {"seconds": _number}),
    # The target of a rename is gone so many seconds later.
    "vanish": Kind(_on("rename"), {"seconds": 0.0}, {"seconds": _number}),
    # Descriptors of a file that is replaced or removed answer ESTALE, as on NFS.
    "stale_handles": Kind(_on("rename", "unlink")),
    # A file that replaced one of another size is seen with the old size: Curvine's readers.
    "old_size": Kind(_on("rename")),
    # Blocks of removed, replaced or cut files count as used in statfs for so many seconds more.
    "late_space": Kind(_on("unlink", "rename", "truncate"), {"seconds": 3.5}, {"seconds": _number}),
    # Fixed answers of statfs; bytes and inodes; -1 leaves a value as it is.
    "statfs": Kind(
        _on("statfs"),
        {"total_bytes": -1, "free_bytes": -1, "total_files": -1, "free_files": -1},
        dict.fromkeys(
            ("total_bytes", "free_bytes", "total_files", "free_files"),
            lambda value: "" if value == -1 else _count(value),
        ),
    ),
    # Reads leave the access time alone, whatever the backing filesystem would do.
    "noatime": Kind(_on("open", "create")),
}

FIELDS = frozenset("kind ops glob probability count skip params".split())


def faults(rule: Mapping[str, Any]) -> list[str]:
    """What is wrong with a rule as it came over the socket: one text each with key, value and fix; empty if it is right."""
    found = [f"{key}: unknown. fix: one of {', '.join(sorted(FIELDS))}" for key in sorted(rule.keys() - FIELDS)]
    kind = KINDS.get(str(rule.get("kind")))
    if kind is None:
        found.append(f"kind={rule.get('kind')!r}: unknown. fix: one of {', '.join(sorted(KINDS))}")
    ops = rule.get("ops", [])
    if not isinstance(ops, list) or not all(isinstance(op, str) for op in ops):
        found.append(f"ops={ops!r}: not a list of names. fix: some of {', '.join(sorted(OPERATIONS))}")
    elif kind and (wrong := sorted(set(ops) - kind.allowed)):
        found.append(f"ops={wrong!r}: not for kind {rule['kind']}. fix: some of {', '.join(sorted(kind.allowed))}")
    glob = rule.get("glob", "**")
    try:
        compiled(str(glob))
    except re.error as error:
        found.append(f"glob={glob!r}: {error}. fix: a pattern such as objects/**/*.kv")
    for key, check in (("probability", _fraction), ("count", _count), ("skip", _count)):
        value = rule.get(key)
        if value is not None and (wanted := check(value)):
            found.append(f"{key}={value!r}. fix: {wanted}")
    params = rule.get("params", {})
    if not isinstance(params, dict):
        return [*found, f"params={params!r}. fix: an object"]
    for key, value in params.items() if kind else ():
        assert kind
        if key not in kind.checks:
            allowed = ", ".join(kind.checks) or "none"
            found.append(f"params.{key}: unknown for kind {rule['kind']}. fix: {allowed}")
        elif wanted := kind.checks[key](value):
            found.append(f"params.{key}={value!r}. fix: {wanted}")
    return found
