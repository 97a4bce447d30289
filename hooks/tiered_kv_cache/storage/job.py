"""What one Pod's part of the check is told."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from .. import l2root, names
from ..findings import UsageError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


@dataclass(frozen=True)
class Job:
    """Times in seconds, but those that the adapter's settings give in ms. ``age``: seconds that count already."""

    directory: str
    line_of_business: str
    release: str
    run: str
    index: int
    node: str
    volume_type: str
    size: int
    quota: int
    block: int
    pool: bool
    load_base_ms: float
    load_ms_per_mib: float
    lookup_ms: float
    deadline: float
    patience: float
    seen: float
    namespace: str = ""
    job: str = ""

    @property
    def other(self) -> int:
        """Index of the other Pod."""
        return 1 - self.index

    @property
    def place(self) -> l2root.Job:
        """This run's directory, as l2-root opens one."""
        base = PurePosixPath(self.directory)
        path = base / "v1" / self.line_of_business / names.L2_CHECK_DIRECTORY / self.release / self.run
        return l2root.Job(path, "", {}, base)

    @property
    def who(self) -> str:
        """This process, for messages."""
        return f"uid {os.getuid()} gid {os.getgid()}"

    def text(self) -> str:
        """JSON for the process that does the work."""
        return json.dumps(dataclasses.asdict(self))


def validate(job: Job) -> Job:
    """The same. Raises UsageError with every fault."""
    faults = []
    path = PurePosixPath(job.directory)
    if not path.is_absolute() or ".." in path.parts or path == PurePosixPath("/"):
        faults.append(f"--directory {job.directory!r} is no absolute path. Fix: give the mount path of the L2 volume")
    for flag, value in (
        ("--line-of-business", job.line_of_business),
        ("--release", job.release),
        ("--run", job.run),
    ):
        if not _NAME.fullmatch(value):
            faults.append(f"{flag} {value!r} is no name. Fix: letters, digits, '.', '_' and '-'")
    for flag, number in (("--size", job.size), ("--quota", job.quota), ("--block", job.block)):
        if number < 0:
            faults.append(f"{flag} {number} is negative. Fix: give bytes")
    if job.deadline < 1:
        faults.append(f"--deadline {job.deadline:g} is too short. Fix: give at least 1 second")
    if faults:
        raise UsageError("\n".join(faults))
    return job
