"""The writer's private directory: what is downloaded lies here until it is whole.

A file is ``<name>.part`` while it grows; its bytes are checked before it gets its name. What a dead writer left is
adopted: its directory is renamed first, so that a writer that was only slow can no longer publish it; finished files
are moved; unfinished ones are copied, since the slow writer may still hold them open.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

from .errors import Fenced, FetchError, Transient
from .lease import Claim
from .progress import Progress
from .remote import Listing, Remote, RemoteFile

PARALLEL_FILES = 4
SYNC_BYTES = 64 << 20
"""A file is written through to the disk each time it has grown by so much: what lies before is safe to build upon."""
READ_BYTES = 4 << 20
PART = ".part"
MOST_WRONG = 2
"""Downloads of a file, from its start, that may have wrong bytes."""


class Work:
    """The private directory of one claim."""

    def __init__(self, claim: Claim, listing: Listing, progress: Progress) -> None:
        self._claim, self._listing, self._progress = claim, listing, progress
        self.path = claim.control / f"work-{claim.number}-{claim.token}"
        self._stop = False

    def prepare(self) -> None:
        """Make the directory, and adopt what earlier writers left. Raises Fenced."""
        try:
            self.path.mkdir()
            self._claim.drop_older()
            left = [p for p in sorted(self._claim.control.iterdir()) if p.name.startswith(("work-", "adopt-"))]
            for number, folder in enumerate(p for p in left if p != self.path):
                self._adopt(folder, number)
        except FileNotFoundError:
            raise Fenced from None
        self._progress.begin(self._listing.size, self.present())

    def present(self) -> int:
        """Bytes that are here already."""
        return sum(_size(self.path / f.name) or _size(self._part(f)) for f in self._listing.files)

    def download(self, remote: Remote) -> None:
        """Bring every file here, checked. Raises FetchError, Transient, Changed or Fenced; what is done stays."""
        self._stop = False
        with ThreadPoolExecutor(PARALLEL_FILES, thread_name_prefix="fetch") as pool:
            files = sorted(self._listing.files, key=lambda f: -f.size)
            futures = [pool.submit(self._one, remote, f) for f in files]
            try:
                done, _ = wait(futures, return_when=FIRST_EXCEPTION)
                failed = [f for f in done if f.exception()]
            finally:
                self._stop = True
                for future in futures:
                    future.cancel()
        for future in failed:
            error = future.exception()
            if not isinstance(error, _Stopped):
                raise cast(BaseException, error)
        missing = [f.name for f in self._listing.files if _size(self.path / f.name) != f.size]
        if missing:
            raise Transient(f"{missing[0]} is not complete")

    def _part(self, file: RemoteFile) -> Path:
        return self.path / (file.name + PART)

    def _adopt(self, folder: Path, number: int) -> None:
        mine = self._claim.control / f"adopt-{self._claim.token}-{number}"
        try:
            folder.rename(mine)
        except FileNotFoundError:
            return
        for file in self._listing.files:
            self._make_parent(file)
            target = self.path / file.name
            if target.exists():
                continue
            if (mine / file.name).is_file() and _size(mine / file.name) == file.size:
                (mine / file.name).rename(target)
            else:
                self._adopt_part(mine / (file.name + PART), file)
        shutil.rmtree(mine, ignore_errors=True)

    def _adopt_part(self, part: Path, file: RemoteFile) -> None:
        size = min(_size(part), file.size)
        # Without a checksum only what was written through is trusted: its machine may have died.
        size = size if file.checksum else synced(size)
        if size <= _size(self._part(file)):
            return
        if self._claim.alone:
            os.truncate(part, size)
            part.replace(self._part(file))
        else:
            _copy(part, self._part(file), size)

    def _make_parent(self, file: RemoteFile) -> None:
        # One by one from this directory down: if it was taken away it must not come back.
        for parent in reversed(PurePosixPath(file.name).parents[:-1]):
            (self.path / parent).mkdir(exist_ok=True)

    def _one(self, remote: Remote, file: RemoteFile) -> None:
        try:
            self._make_parent(file)
            seen: set[str] = set()
            while _size(self.path / file.name) != file.size or not (self.path / file.name).exists():
                self._try(remote, file, seen)
        except FileNotFoundError:
            raise Fenced from None

    def _try(self, remote: Remote, file: RemoteFile, seen: set[str]) -> None:
        part = self._part(file)
        offset = _size(part)
        if offset > file.size:
            self._again(part)
            offset = 0
        with part.open("r+b" if part.exists() else "x+b") as raw:
            raw.seek(offset)
            if offset < file.size:
                remote.read(file, cast(BinaryIO, _Sink(raw, self._alive, self._progress)), offset)
            raw.flush()
            os.fsync(raw.fileno())
        if _size(part) != file.size:
            raise Transient(f"{file.name} has {_size(part)} bytes instead of {file.size}")
        found = self._wrong(part, file)
        whole = offset == 0
        if found and whole and found in seen and not file.certain:
            # The same bytes twice are no accident of the way; an etag need not be an MD5.
            self._progress.note(f"{file.name}: its etag is no MD5; two downloads were equal")
            found = ""
        if not found:
            part.rename(self.path / file.name)
            return
        self._again(part)
        wrong = f"{file.name}: its {file.checksum.partition(':')[0]} is {found}, and the remote says {file.checksum}"
        if whole and (found in seen or len(seen) == MOST_WRONG):
            raise FetchError(
                f"checksum of {file.name}",
                found,
                f"{wrong}, again after another download",
                "look at what stands between: a proxy, a mirror (endpoint), the store's disk",
            )
        if whole:
            seen.add(found)
        self._progress.note(f"{wrong}: downloading it again from the start")

    def _again(self, part: Path) -> None:
        self._progress.add(-_size(part))
        part.unlink()

    def _wrong(self, part: Path, file: RemoteFile) -> str:
        """The digest of the file if it is not what the remote says; else nothing."""
        algorithm, _, expected = file.checksum.partition(":")
        found = checksum(part, algorithm, self._alive) if algorithm else ""
        return "" if found == expected else found

    def _alive(self) -> None:
        if self._claim.lost.is_set():
            raise Fenced
        if self._stop:
            raise _Stopped


class _Stopped(Exception):
    """Another file failed."""


class _Sink:
    """A file that reports progress, is written through now and then, and stops when the claim is lost."""

    def __init__(self, raw: BinaryIO, alive: Callable[[], None], progress: Progress) -> None:
        self._raw, self._alive, self._progress = raw, alive, progress

    def write(self, data: Any) -> int:
        self._alive()
        view = memoryview(data)
        while view:
            # Never more than to the next border, so that all before it is on the disk before anything follows.
            room = SYNC_BYTES - self._raw.tell() % SYNC_BYTES
            piece, view = view[:room], view[room:]
            self._raw.write(piece)
            if len(piece) == room:
                self._raw.flush()
                os.fsync(self._raw.fileno())
            self._progress.add(len(piece))
        return len(data)

    def tell(self) -> int:
        return self._raw.tell()

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._raw.seek(offset, whence)

    def truncate(self) -> int:
        before = _size(Path(self._raw.name))
        self._raw.flush()
        after = self._raw.truncate()
        self._progress.add(after - before)
        return after

    def flush(self) -> None:
        self._raw.flush()


def synced(size: int) -> int:
    """How much of a growing file of ``size`` bytes is surely on the disk, even if its machine died."""
    return max(0, size - 1) // SYNC_BYTES * SYNC_BYTES


def checksum(path: Path, algorithm: str, alive: Callable[[], None] = lambda: None) -> str:
    """Hex digest of a file: sha256, md5, or git's name of a blob."""
    digest = hashlib.new("sha1" if algorithm == "git" else algorithm, usedforsecurity=False)
    if algorithm == "git":
        digest.update(b"blob %d\0" % path.stat().st_size)
    with path.open("rb") as file:
        while data := file.read(READ_BYTES):
            alive()
            digest.update(data)
    return digest.hexdigest()


def _copy(source: Path, target: Path, size: int) -> None:
    if not size:
        return
    with source.open("rb") as reader, target.open("wb") as writer:
        left = size
        while left and (data := reader.read(min(READ_BYTES, left))):
            writer.write(data)
            left -= len(data)
        writer.flush()
        os.fsync(writer.fileno())


def _size(path: Path) -> int:
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_size
    return 0
