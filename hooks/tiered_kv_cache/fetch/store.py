"""The model store: finished models with a marker, made whole by one rename.

<store>/hf/<organisation>--<name>/<commit>/             the files, and MARKER: source, revision, names and sizes
<store>/hf/<organisation>--<name>/.fetch-<commit>/      claims and private directories while it is being downloaded
<store>/s3/<bucket>/<hash of the prefix>/<hash of the listing>/
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
from dataclasses import asdict
from pathlib import Path

from ..names import MODEL_MARKER
from .remote import Listing
from .spec import Job

CONTROL = ".fetch-"
SWEPT = ".swept-"
STALE_SECONDS = 24 * 3600.0
"""Age from which another revision's unfinished download counts as left behind, by the volume's own clock."""


class Place:
    """One revision of one model in the store."""

    def __init__(self, job: Job, revision: str) -> None:
        self.base = job.store / job.source.place
        self.final = self.base / revision
        self.control = self.base / (CONTROL + revision)
        self.revision = revision
        self._job = job

    def whole(self) -> bool:
        """True if the finished model is there, and each of its files has the size that the marker says."""
        try:
            marker = json.loads((self.final / MODEL_MARKER).read_bytes())
            files = marker["files"]
            return marker["revision"] == self.revision and all(
                (self.final / name).stat().st_size == entry["size"] for name, entry in files.items()
            )
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def size(self) -> int:
        """Bytes of the finished model, by its marker."""
        marker = json.loads((self.final / MODEL_MARKER).read_bytes())
        return sum(int(entry["size"]) for entry in marker["files"].values())

    def mark(self, work: Path, listing: Listing) -> None:
        """Write the marker into the private directory ``work``."""
        source = {k: v for k, v in asdict(self._job.source).items() if not k.endswith("_from")}
        content = {
            "format": 1,
            "source": source,
            "revision": listing.revision,
            "files": {f.name: {"size": f.size, "checksum": f.checksum or f.etag.strip('"')} for f in listing.files},
            "fetchedBy": self._job.pod,
        }
        with (work / MODEL_MARKER).open("w", encoding="utf-8") as file:
            json.dump(content, file, indent=1, sort_keys=True)
            file.flush()
            os.fsync(file.fileno())
        for folder in (*{(work / f.name).parent for f in listing.files}, work):
            sync_directory(folder)

    def publish(self, work: Path) -> bool:
        """Rename ``work`` to the finished model; False if somebody else's is there already.

        Raises FileNotFoundError if ``work`` is gone: another Pod has taken it over.
        """
        try:
            work.rename(self.final)
        except FileNotFoundError:
            raise
        except OSError:
            if not self.whole():
                raise
            return False
        sync_directory(self.base)
        return True

    def discard_broken(self) -> bool:
        """Put a finished model that is not whole out of the way; True if there was one."""
        if not self.final.exists():
            return False
        self._remove(self.final)
        return True

    def finish(self) -> None:
        """Remove claims and private directories of this revision."""
        self._remove(self.control)

    def sweep(self, now: float) -> list[str]:
        """Remove what dead downloads of other revisions left; ``now``: the volume's time. Returns what was removed."""
        removed = []
        for entry in sorted(self.base.iterdir()):
            left = entry.name.startswith(CONTROL) and entry != self.control and _age(entry, now) > STALE_SECONDS
            if left or (entry.name.startswith(SWEPT) and _age(entry, now) > STALE_SECONDS):
                self._remove(entry)
                removed.append(entry.name)
        return removed

    def _remove(self, path: Path) -> None:
        # Renamed first, so that nobody meets half of it.
        away = self.base / f"{SWEPT}{secrets.token_hex(8)}"
        with contextlib.suppress(OSError):
            path.rename(away)
        shutil.rmtree(away, ignore_errors=True)


def sync_directory(path: Path) -> None:
    """fsync of a directory, where the filesystem has it."""
    with contextlib.suppress(OSError):
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def link(target: Path, at: Path) -> None:
    """Make ``at`` a symbolic link to ``target``, whatever link was there."""
    at.parent.mkdir(parents=True, exist_ok=True)
    new = at.with_name(f".{at.name}.{secrets.token_hex(4)}")
    new.symlink_to(target)
    new.replace(at)


def _age(path: Path, now: float) -> float:
    newest = 0.0
    with contextlib.suppress(OSError):
        for folder, _, files in os.walk(path):
            for name in (folder, *(os.path.join(folder, f) for f in files)):  # noqa: PTH118 - many names
                with contextlib.suppress(OSError):
                    newest = max(newest, os.stat(name).st_mtime)  # noqa: PTH116
    return now - newest
