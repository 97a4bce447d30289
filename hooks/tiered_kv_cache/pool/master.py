"""pool-master: lets a Curvine master start only where it can neither wipe nor split its group.

A master whose volume came back empty formats it without a word. Alone it has then forgotten all files; in a group it has forgotten
what it voted for. So each master's claim remembers the group, and whether its volume has held data.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TypeVar

from .. import l2root, names
from ..deadline import Deadline
from ..findings import Finding, UsageError
from .claims import Api, Claim, Claims, Members, Refused

T = TypeVar("T")

DIRECTORIES = ("meta", "journal")
DIRECTORY_MODE = 0o700
VOLUME_SECONDS = 5.0
"""For the volume at least, however long the claims took."""
_POD = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?)-([0-9]+)")
KEY = "curvine.masters.replicas"


class Content(Enum):
    """What the two directories hold: nothing; something, both; or one without the other."""

    EMPTY, FULL, HALF = "empty", "full", "half"


@dataclass(frozen=True)
class Job:
    """``data``: the master's volume; ``replicas``: how many masters the values name."""

    data: Path
    cluster_id: str
    replicas: int
    pod: str
    namespace: str
    stateful_set: str
    ordinal: int


def job(data: str, cluster_id: str, replicas: int, pod: str, namespace: str) -> Job:
    """Check the arguments; raises UsageError with every fault."""
    faults = []
    found = _POD.fullmatch(pod)
    if found is None:
        faults.append(f"--pod {pod!r} is no Pod of a StatefulSet. Fix: give metadata.name (downward API)")
    if replicas < 1:
        faults.append(f"--replicas {replicas} is below 1. Fix: set {KEY} to 1, 3 or 5")
    elif found and int(found[3]) >= replicas:
        faults.append(
            f"--pod {pod} is beyond --replicas {replicas}: somebody scaled the StatefulSet. "
            f"Fix: kubectl -n {namespace} scale statefulset {found[1]} --replicas {replicas}"
        )
    if not cluster_id:
        faults.append("--cluster-id is empty. Fix: give the pool's cluster id")
    if faults or found is None:
        raise UsageError("\n".join(faults))
    return Job(Path(data), cluster_id, replicas, pod, namespace, found[1], int(found[3]))


def prepare(todo: Job, api: Api, deadline: Deadline, say: Callable[[str], None]) -> list[str]:
    """Check, annotate the claim, make the directories; returns what was found. Raises Refused and L2RootError."""
    content, faults = _within(deadline, todo, lambda: look(todo.data))
    claims = Claims(api, todo.namespace, todo.stateful_set, todo.replicas, deadline=deadline, say=say)
    while True:
        try:
            # Only a first start writes down who the others are.
            found = claims.read(settled=content is Content.EMPTY)
        except Refused as err:
            raise Refused(*faults, *err.findings) from err
        findings, members = judge(todo, content, found)
        if faults or findings:
            raise Refused(*faults, *findings)
        if members is None or claims.record(found[todo.ordinal], members):
            break
    _within(deadline, todo, lambda: make(todo.data))
    lines = [f"cluster {todo.cluster_id}: master {todo.ordinal} of {todo.replicas}, its volume {_SHOWN[content]}"]
    return [*lines, f"claim {found[todo.ordinal].name}: recorded {members.text()}"] if members else lines


_SHOWN = {Content.EMPTY: "is empty, as at a first start", Content.FULL: "holds data", Content.HALF: "is damaged"}


def look(data: Path) -> tuple[Content, list[Finding]]:
    """What the volume holds, and what is wrong with it."""
    if not data.is_dir():
        return Content.EMPTY, [Finding(f"--data {data}: no directory", "mount the claim's volume there")]
    filled: list[str] = []
    faults = []
    for name in DIRECTORIES:
        try:
            with os.scandir(data / name) as entries:
                if next(entries, None):
                    filled.append(name)
        except FileNotFoundError:
            continue
        except OSError as err:
            faults.append(_fault(data / name, "cannot be read", err))
    content = {0: Content.EMPTY, 1: Content.HALF, 2: Content.FULL}[len(filled)]
    return content, faults


def make(data: Path) -> None:
    """Make what is absent; raises Refused."""
    for name in DIRECTORIES:
        try:
            (data / name).mkdir(DIRECTORY_MODE, exist_ok=True)
        except OSError as err:
            raise Refused(_fault(data / name, "cannot be made", err)) from err


def judge(todo: Job, content: Content, claims: list[Claim]) -> tuple[list[Finding], Members | None]:
    """What speaks against a start; and what to record on the own claim, None where it is right as it is."""
    own, others = claims[todo.ordinal], [c for i, c in enumerate(claims) if i != todo.ordinal]
    findings = [_unreadable(todo, claim) for claim in claims if claim.fault]
    # Without a record of its own it goes by that of the others.
    source = next((c for c in (own, *([] if own.members or own.fault else others)) if c.members), None)
    if source is not None and source.members is not None:
        findings += _other_group(todo, source.name, source.members)
    if content is Content.HALF:
        findings.append(_half(todo))
    if content is Content.FULL:
        known = own.members or Members(todo.cluster_id, tuple(c.uid for c in claims), False)
        return findings, None if known.held else replace(known, held=True)
    if content is Content.EMPTY and own.members and own.members.held:
        findings.append(_lost(todo, own))
    elif content is Content.EMPTY and not own.fault:
        without = [c.name for c in others if c.members and own.uid not in c.members.uids]
        # A group of another size or name is told already, with the same steps.
        if without and not findings:
            findings.append(_replaced(todo, own, without))
    # What was recorded stays: only the first start knows who belonged to the group.
    known_already = own.members is not None and own.uid in own.members.uids
    return findings, None if known_already else Members(todo.cluster_id, tuple(c.uid for c in claims), False)


def _other_group(todo: Job, claim: str, there: Members) -> list[Finding]:
    findings = []
    count = max(todo.replicas, len(there.uids))
    if there.cluster_id != todo.cluster_id:
        findings.append(Finding(
            f"claim {claim} belongs to the cluster id {there.cluster_id!r}, this release's is {todo.cluster_id!r}: "
            "a master that starts under another id forgets the pool's files",
            f"set the pool's cluster id back to {there.cluster_id!r}, or, {_EMPTY_POOL}", _delete(todo, count),
        ))  # fmt: skip
    if len(there.uids) != todo.replicas:
        findings.append(Finding(
            f"{KEY}: {todo.replicas}, but claim {claim} says that the group was first started with {len(there.uids)}: "
            "its size is fixed at its first start",
            f"set {KEY} back to {len(there.uids)}, or, {_EMPTY_POOL}", _delete(todo, count),
        ))  # fmt: skip
    return findings


_EMPTY_POOL = "to start an empty pool, uninstall the release, delete the masters' claims as below and install it again"


def _delete(todo: Job, count: int) -> tuple[str, ...]:
    claims = " ".join(f"data-{todo.stateful_set}-{ordinal}" for ordinal in range(count))
    return (f"kubectl -n {todo.namespace} delete pvc {claims}",)


def _unreadable(todo: Job, claim: Claim) -> Finding:
    return Finding(
        f"claim {claim.name}: annotation {names.ANNOTATION_MEMBERS} cannot be read: {claim.fault}",
        "write back what was there; if the volume still holds its data, remove the annotation, and it is made anew",
        (_forget(todo, claim.name),),
    )


def _forget(todo: Job, claim: str) -> str:
    return f"kubectl -n {todo.namespace} annotate pvc {claim} {names.ANNOTATION_MEMBERS}-"


def _half(todo: Job) -> Finding:
    return Finding(
        f"{todo.data}: one of {' and '.join(DIRECTORIES)} is empty and the other is not: "
        "a part of this master's data is lost, and it cannot start from the rest",
        f"bring the lost directory back, or, {_EMPTY_POOL}", _delete(todo, todo.replicas),
    )  # fmt: skip


def _lost(todo: Job, own: Claim) -> Finding:
    what = f"{todo.data}: the volume of claim {own.name} has held this master's data and is empty now"
    if todo.replicas == 1:
        return Finding(
            f"{what}: started like this, the only master would forget all files without a word",
            "give it back the disk or the copy with the data; or, to start an empty pool, say so by removing the claim's annotation",
            (_forget(todo, own.name),),
        )  # fmt: skip
    return Finding(
        f"{what}: a master that comes back empty breaks its group",
        f"give it back the disk with the data. Without it the pool goes on as long as {todo.replicas // 2 + 1} of its "
        f"{todo.replicas} masters run. To have all of them again: {_EMPTY_POOL}",
        _delete(todo, todo.replicas),
    )


def _replaced(todo: Job, own: Claim, without: list[str]) -> Finding:
    return Finding(
        f"{todo.data} is empty and claim {own.name} is new (uid {own.uid}), but {', '.join(without)} "
        "say that their group was started with another in its place: a master that comes back empty breaks its group",
        f"the pool goes on as long as {todo.replicas // 2 + 1} of its {todo.replicas} masters run; leave this one waiting. "
        f"To have all of them again: {_EMPTY_POOL}",
        _delete(todo, todo.replicas),
    )


def _fault(path: Path, doing: str, err: OSError) -> Finding:
    if isinstance(err, PermissionError):
        fix = f"let uid {os.getuid()} gid {os.getgid()} write there (fsGroup of the Pod, or chown on the volume)"
    elif isinstance(err, NotADirectoryError | FileExistsError):
        fix = "look what is there instead of a directory, and move it away"
    else:
        fix = "mend the claim's volume"
    return Finding(f"{path} {doing}: {err.strerror or err}", fix)


def _within(deadline: Deadline, todo: Job, work: Callable[[], T]) -> T:
    seconds = max(VOLUME_SECONDS, deadline.remaining())
    return l2root.within(seconds, work, f"the volume at {todo.data} does not answer", "mend the claim's volume")
