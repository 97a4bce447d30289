"""What a model's weights are, told cheaply from their bytes: not from names of claims, times or places.

Files may be replaced behind an unchanged path; blocks that the old weights made must not be served then. Read are:

    configuration and code   whole, since every word of them may change what a layer computes
    *.safetensors            size, the header with every tensor's name, type and place, and samples of each tensor's bytes
    other weights            size, and samples at even distances
    full identity            everything, whole

What a sample cannot see: a few rows changed inside a large tensor, between two samples. ``full`` sees it.
Standard library only: this also runs in the engine's image.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SAMPLE_BYTES = 4096
STRIDE_BYTES = 16 << 20
"""Distance of further samples in a large tensor, and of all samples in a file without a header."""
HEADER_MOST_BYTES = 100_000_000
"""The format's own limit."""
READ_BYTES = 1 << 20
PARALLEL_READS = 16
"""Network volumes answer many small reads at once as fast as one."""
READS_OF_A_TASK = 64

SAFETENSORS = ".safetensors"
OTHER_WEIGHTS = frozenset({".bin", ".pt", ".pth", ".gguf", ".npz", ".msgpack", ".h5", ".tensors"})
CONFIGURATION = frozenset({".json", ".py", ".yaml"})
# They shape text and token ids, which are in a block's key, or sampling, which comes after the cache.
NEUTRAL = frozenset(
    "tokenizer.json tokenizer_config.json special_tokens_map.json added_tokens.json vocab.json merges.json tekken.json "
    "generation_config.json chat_template.json".split()
)


class WeightsError(Exception):
    """The folder cannot be read as a model; the message says what and how to mend it."""


@dataclass(frozen=True)
class Identity:
    """``digest``: of all; ``files``: of each file, so that a difference can be named. Digests have 16 hex digits."""

    mode: str
    digest: str
    files: dict[str, str]
    read_bytes: int

    def as_json(self) -> dict[str, Any]:
        """What enters the configuration that the fingerprint hashes."""
        return {"identity": self.mode, "digest": self.digest, "files": self.files}


def identity(folder: Path, mode: str = "sampled") -> Identity:
    """The identity of the weights in ``folder``; ``mode``: sampled or full. Raises WeightsError."""
    names = list(_names(folder))
    weights = [n for n in names if Path(n).suffix == SAFETENSORS or Path(n).suffix in OTHER_WEIGHTS]
    if not weights:
        raise WeightsError(
            f"{folder} holds no weights ({', '.join(names[:5]) or 'nothing'}). "
            "Fix: let source name the folder that holds config.json and the safetensors"
        )
    with ThreadPoolExecutor(PARALLEL_READS) as pool:
        parts = {name: _plan(folder / name, mode) for name in names}
        tasks = {name: [pool.submit(part.read, chunk) for chunk in part.chunks()] for name, part in parts.items()}
        files = {name: _digest([parts[name].head, *(t.result() for t in tasks[name])]) for name in names}
    text = json.dumps([mode, files], sort_keys=True).encode()
    return Identity(mode, hashlib.sha256(text).hexdigest()[:16], files, sum(p.read_bytes for p in parts.values()))


def read_config(folder: Path) -> dict[str, Any]:
    """config.json of a model (or Mistral's params.json); an empty object where the format has none (GGUF)."""
    for name in ("config.json", "params.json"):
        path = folder / name
        if path.is_symlink() and not path.exists():
            raise WeightsError(
                f"{path} is a link to {path.readlink()}, which is not there: the folder is part of a hub cache. "
                "Fix: copy the model without links (cp -rL), and let source name the copy"
            )
        if not path.exists():
            continue
        try:
            config = json.loads(path.read_bytes())
        except ValueError as err:
            raise WeightsError(f"{path} is not JSON: {err}. Fix: copy the model again") from None
        if not isinstance(config, dict):
            raise WeightsError(f"{path} is no JSON object. Fix: copy the model again")
        return config
    if any(p.suffix == ".gguf" for p in folder.glob("*")):
        return {}
    there = ", ".join(sorted(p.name for p in folder.glob("*"))[:5]) if folder.is_dir() else "no such folder"
    raise WeightsError(
        f"{folder} has no config.json ({there or 'it is empty'}). "
        "Fix: let source name the folder that holds it: claim.subPath, s3.prefix or imagePath.path"
    )


@dataclass(frozen=True)
class _Part:
    """One file: ``head`` is hashed as it is, then the bytes of ``ranges`` (offset, length), in order."""

    path: Path
    head: bytes
    ranges: list[tuple[int, int]]

    @property
    def read_bytes(self) -> int:
        return sum(length for _, length in self.ranges)

    def chunks(self) -> Iterable[list[tuple[int, int]]]:
        for at in range(0, len(self.ranges), READS_OF_A_TASK):
            yield self.ranges[at : at + READS_OF_A_TASK]

    def read(self, ranges: list[tuple[int, int]]) -> bytes:
        """Digest of some of the ranges."""
        digest = hashlib.sha256()
        fd = os.open(self.path, os.O_RDONLY)
        try:
            for offset, length in ranges:
                data = b""
                while len(data) < length and (more := os.pread(fd, length - len(data), offset + len(data))):
                    data += more
                if len(data) < length:
                    raise WeightsError(
                        f"{self.path} became shorter while it was read. Fix: restart the Pod when the copy is done"
                    )
                digest.update(data)
        finally:
            os.close(fd)
        return digest.digest()


def _names(folder: Path) -> Iterable[str]:
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        for file in sorted(files):
            suffix = Path(file).suffix
            counts = suffix == SAFETENSORS or suffix in OTHER_WEIGHTS or suffix in CONFIGURATION
            if counts and not file.startswith(".") and file not in NEUTRAL:
                yield str((Path(path) / file).relative_to(folder))


def _plan(path: Path, mode: str) -> _Part:
    try:
        size = path.stat().st_size
        head = f"{size}\n".encode()
        if mode == "full" or path.suffix in CONFIGURATION:
            return _Part(path, head, [(at, min(READ_BYTES, size - at)) for at in range(0, size, READ_BYTES)])
        if path.suffix == SAFETENSORS:
            header, begin = _header(path, size)
            return _Part(
                path, head + hashlib.sha256(header).digest(), _merged(_tensor_samples(path, header, begin, size))
            )
        return _Part(path, head, _merged(_samples(0, size)))
    except FileNotFoundError:
        raise WeightsError(
            f"{path} is a link to a file that is not there. Fix: copy the model without links (cp -rL)"
        ) from None


def _header(path: Path, size: int) -> tuple[bytes, int]:
    """The JSON header of a safetensors file, and where its tensors begin."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= min(HEADER_MOST_BYTES, size - 8):
            raise WeightsError(f"{path} is no safetensors file, or not whole. Fix: copy the model again")
        return file.read(length), 8 + length


def _tensor_samples(path: Path, header: bytes, begin: int, size: int) -> Iterable[tuple[int, int]]:
    try:
        places = sorted(
            (begin + int(entry["data_offsets"][0]), begin + int(entry["data_offsets"][1]))
            for name, entry in json.loads(header).items()
            if name != "__metadata__"
        )
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        raise WeightsError(f"{path} has a header that cannot be read. Fix: copy the model again") from None
    if places and places[-1][1] > size:
        raise WeightsError(
            f"{path} is cut off: {size} bytes, and its header speaks of {places[-1][1]}. Fix: copy the model again"
        )
    for first, end in places:
        yield from _samples(first, end)


def _samples(first: int, end: int) -> Iterable[tuple[int, int]]:
    """First, middle and last bytes of a range, and some on the way through a long one."""
    length = end - first
    if length <= 3 * SAMPLE_BYTES:
        yield first, length
        return
    steps = max(2, -(-length // STRIDE_BYTES))
    steps += steps % 2  # Even, so that the middle is one of them.
    last = length - SAMPLE_BYTES
    for step in range(steps + 1):
        yield first + last * step // steps, SAMPLE_BYTES


def _merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges in order, those that touch as one: one read instead of two at each border of tensors."""
    merged: list[tuple[int, int]] = []
    for offset, length in sorted(r for r in ranges if r[1]):
        if merged and offset <= sum(merged[-1]) and sum(merged[-1]) - merged[-1][0] < READ_BYTES:
            before = merged.pop()
            merged.append((before[0], max(sum(before), offset + length) - before[0]))
        else:
            merged.append((offset, length))
    return merged


def _digest(parts: list[bytes]) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]
