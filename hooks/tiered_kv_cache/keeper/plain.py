"""Files of LMCache's own ``fs`` adapter, which lie flat in a fingerprint's directory.

Counted, and removed once nobody has stored them for the TTL: nothing tells when they were last read, and after a change to
this bundle's adapter nobody reads them at all.
"""

from __future__ import annotations

import re
import stat

from .context import Context
from .table import Fingerprint

NAME = re.compile(r"[^/\x00]+@0x[0-9a-f]{8}@[0-9a-f]{1,8}@[0-9a-f]{8,128}(?:@[^/\x00@]*)?\.data")


class Plain:
    """Those of one fingerprint, in one sweep."""

    def __init__(self, x: Context, found: Fingerprint) -> None:
        self._x, self._found = x, found
        found.plain_files = found.plain_blocks = found.plain_size = 0

    def took(self, fd: int, name: str, is_directory: bool) -> bool:
        """Whether ``name`` is one of them; then it is counted, or removed. Raises OSError."""
        if is_directory or not NAME.fullmatch(name):
            return False
        x, found = self._x, self._found
        about = x.tree.look(fd, name)
        if about is None:
            return True
        if not stat.S_ISREG(about.st_mode):
            return False
        if x.settings.ttl > 0 and x.old(about, x.settings.ttl) and x.remove(fd, name, found.lob, "plain"):
            return True
        found.plain_files += 1
        found.plain_blocks += about.st_blocks
        found.plain_size += about.st_size
        return True
