"""The objects of a fingerprint's directory, a page at a time, for LMCache's administration interface."""

from __future__ import annotations

import contextlib
import os
import stat

from . import format, paths


def page(base: str, size: int, after: str | None) -> list[tuple[str, paths.ObjectName, str, int]]:
    """At most ``size`` objects behind ``after`` in the order of names: name, its parts, salt, bytes of payload.

    A salt that the name has only as digest is read from the object's header. Raises OSError; may block.
    """
    result: list[tuple[str, paths.ObjectName, str, int]] = []
    first = after or ""
    root = f"{base}/{paths.OBJECTS}"
    for aa in _sorted(root):
        if aa < first[:2]:
            continue
        for bb in _sorted(f"{root}/{aa}"):
            if aa + bb < first[:4]:
                continue
            for file in _sorted(f"{root}/{aa}/{bb}"):
                name = file.removesuffix(paths.OBJECT_SUFFIX)
                parsed = paths.parse_name(name)
                if parsed is None or name <= first or paths.object_path(name) != f"{paths.OBJECTS}/{aa}/{bb}/{file}":
                    continue
                with contextlib.suppress(FileNotFoundError, format.FormatError):
                    path = f"{root}/{aa}/{bb}/{file}"
                    found = os.lstat(path)
                    if not stat.S_ISREG(found.st_mode) or found.st_size <= format.HEADER:
                        continue
                    salt = _salt(path) if parsed.salt is None else parsed.salt
                    result.append((name, parsed, salt, found.st_size - format.HEADER))
                if len(result) == size:
                    return result
    return result


def _sorted(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _salt(path: str) -> str:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return format.decode_header(os.pread(fd, format.HEADER, 0)).salt
    finally:
        os.close(fd)
