"""Remove from a venv what the engine never reads, and what no loader reads of its libraries. Runs in the image's build.

usage: slim.py VENV PATTERNS
"""

from __future__ import annotations

import shutil
import struct
import sys
from pathlib import Path

ELF64_LITTLE = b"\x7fELF\x02\x01"
ELF_HEADER = 64
KEEP_BELOW = 1 << 20


def remove(venv: Path, patterns: list[str]) -> int:
    """Remove all that fits the glob patterns; returns the bytes freed.

    A pattern that begins with `?` is for files that only one build of a package has.

    Raises:
        ValueError: other patterns that fit nothing (a list that has gone stale).
    """
    freed, unused = 0, []
    for pattern in patterns:
        found = list(venv.glob(pattern.removeprefix("?")))
        if not found and not pattern.startswith("?"):
            unused.append(pattern)
        for path in found:
            freed += _size(path)
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
    if unused:
        raise ValueError(f"nothing fits these patterns, remove or correct them: {', '.join(unused)}")
    return freed


def strip_tail(library: Path) -> int:
    """Cut an ELF file behind the last byte that its program headers map; returns the bytes freed.

    The loader reads the program headers alone. What lies behind (symbol and debug tables, the table of sections) serves
    debuggers and linkers, and is a third of vLLM's and torch's libraries. Same effect as `strip` for the run time,
    without binutils in the image.
    """
    with library.open("r+b") as file:
        header = file.read(ELF_HEADER)
        if not header.startswith(ELF64_LITTLE):
            return 0
        (table,) = struct.unpack_from("<Q", header, 32)
        entry_size, entries = struct.unpack_from("<HH", header, 54)
        file.seek(table)
        headers = file.read(entry_size * entries)
        end = table + entry_size * entries
        for start in range(0, len(headers), entry_size):
            (offset,) = struct.unpack_from("<Q", headers, start + 8)
            (length,) = struct.unpack_from("<Q", headers, start + 32)
            end = max(end, offset + length)
        size = library.stat().st_size
        if size <= end:
            return 0
        # e_shoff, e_shnum and e_shstrndx: without the table of sections nothing may point to it.
        file.seek(40)
        file.write(struct.pack("<Q", 0))
        file.seek(60)
        file.write(struct.pack("<HH", 0, 0))
        file.truncate(end)
    return size - end


def _size(path: Path) -> int:
    if path.is_dir() and not path.is_symlink():
        return sum(p.lstat().st_size for p in path.rglob("*") if not p.is_dir())
    return path.lstat().st_size


def main() -> int:
    venv, listed = Path(sys.argv[1]), Path(sys.argv[2])
    patterns = [line.strip() for line in listed.read_text().splitlines() if line.strip() and line[0] != "#"]
    removed = remove(venv, patterns)
    libraries = [p for p in venv.rglob("*.so*") if p.is_file() and not p.is_symlink() and p.stat().st_size > KEEP_BELOW]
    stripped = sum(strip_tail(library) for library in libraries)
    print(
        f"removed {removed / 1e6:.0f} MB, stripped {stripped / 1e6:.0f} MB from {len(libraries)} libraries", flush=True
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
