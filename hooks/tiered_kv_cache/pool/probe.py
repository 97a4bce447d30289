"""One mount's helper process: an empty line once it runs, then for each line on stdin a look, and a line with what came out.

A process, not a thread: a call that a FUSE process has taken and never answers cannot be interrupted, not even by SIGKILL, and a
process with a thread in such a call does not end. This file is run by its path, alone: nothing of the package is loaded.
"""

from __future__ import annotations

import os
import sys
import time


def look(path: str) -> tuple[int, bool]:
    """Ask the mount at ``path``: errno, or 0; and whether it is the directory's own filesystem, so that nothing is mounted."""
    try:
        here, above = os.stat(path), os.stat(os.path.dirname(path))  # noqa: PTH116, PTH120 - pathlib costs a start more
        with os.scandir(path) as entries:
            next(entries, None)
    except OSError as err:
        return err.errno or -1, False
    return 0, here.st_dev == above.st_dev


def main(path: str) -> None:
    """Until stdin ends, as it does when the watch ends."""
    os.write(1, b"\n")
    for _ in iter(sys.stdin.buffer.readline, b""):
        began = time.monotonic()
        number, bare = look(path)
        os.write(1, b"%d %d %.6f\n" % (number, bare, time.monotonic() - began))


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except BrokenPipeError:
        # The watch ended while a call hung.
        os._exit(0)
