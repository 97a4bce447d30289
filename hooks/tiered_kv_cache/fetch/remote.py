"""What both kinds of remote offer: a listing, and the bytes of a file from an offset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO, Protocol


@dataclass(frozen=True)
class RemoteFile:
    """One file. ``checksum`` is '<algorithm>:<hex>', or "" where the remote tells none.

    Algorithms: ``sha256``; ``git`` (SHA-1 of git's blob); ``md5``. ``certain``: false for an etag that is an MD5 only
    by custom (S3 with some kinds of encryption has others).
    """

    name: str
    size: int
    checksum: str = ""
    certain: bool = True
    etag: str = ""


@dataclass(frozen=True)
class Listing:
    """The files of one revision. ``revision``: names exactly these bytes, and their directory in the store."""

    revision: str
    files: tuple[RemoteFile, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(f.size for f in self.files)


class Remote(Protocol):
    """A place to download from. Both calls raise FetchError, Transient or Changed."""

    @property
    def fixed_revision(self) -> str | None:
        """The revision, where it is known without asking."""

    def listing(self) -> Listing:
        """What there is to download."""

    def read(self, file: RemoteFile, into: BinaryIO, offset: int) -> None:
        """Append the file's bytes from ``offset`` on to ``into``."""
