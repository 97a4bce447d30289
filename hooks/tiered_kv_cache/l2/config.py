"""The adapter's settings, from ``adapter_params`` of LMCache's ``--l2-adapter``."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from . import paths


class SettingsError(ValueError):
    """All faults of the parameters together, one a line."""


@dataclass(frozen=True)
class Settings:
    """What a person may set. Times in milliseconds, sizes in MiB, unless the name says otherwise."""

    base_path: str
    pod: str
    recompute_ms_per_chunk: float = 0.0
    lookup_deadline_ms: float = 100.0
    load_base_ms: float = 500.0
    load_ms_per_mib: float = 20.0
    load_floor_ms: float = 100.0
    stall_ms: float = 150.0
    store_base_ms: float = 10_000.0
    store_ms_per_mib: float = 50.0
    store_queue_mib: int = 256
    store_wait_ms: float = 10_000.0
    load_threads: int = 8
    lookup_threads: int = 4
    store_threads: int = 4
    fsync: str = "none"
    direct_io: bool = False
    read_ahead: bool = True
    drop_stored_pages: bool = False
    positive_cache_ms: float = 1000.0
    positive_cache_keys: int = 65_536
    unreadable_ms: float = 30_000.0
    use_interval_s: float = 60.0
    use_keys: int = 20_000
    probe_interval_ms: float = 1000.0
    breaker_errors: int = 4
    breaker_window_ms: float = 10_000.0


@dataclass(frozen=True)
class _Knob:
    """Least and greatest value, and what it does."""

    low: float
    high: float
    text: str


_KNOBS = {
    "recompute_ms_per_chunk": _Knob(
        0,
        1e6,
        "what computing one chunk costs the engine; a load never takes longer than that (0: learnt from its requests)",
    ),
    "lookup_deadline_ms": _Knob(1, 60_000, "a lookup answers after this at the latest, with what it knows"),
    "load_base_ms": _Knob(1, 600_000, "a load's deadline: this ..."),
    "load_ms_per_mib": _Knob(0, 60_000, "... and this for each MiB"),
    "load_floor_ms": _Knob(1, 60_000, "the least deadline of a load, however little computing costs"),
    "stall_ms": _Knob(10, 600_000, "loads end as misses when no thread has read anything for this long"),
    "store_base_ms": _Knob(1, 120_000, "a store's deadline, waiting included: this ..."),
    "store_ms_per_mib": _Knob(0, 60_000, "... and this for each MiB"),
    "store_queue_mib": _Knob(1, 1 << 20, "stores that wait are dropped beyond this"),
    "store_wait_ms": _Knob(1, 120_000, "a store that has waited this long is dropped"),
    "load_threads": _Knob(1, 64, "threads that read; each has a buffer of 1 MiB"),
    "lookup_threads": _Knob(1, 64, "threads that look up"),
    "store_threads": _Knob(1, 64, "threads that write"),
    "positive_cache_ms": _Knob(0, 60_000, "how long a found object counts as present without asking again"),
    "positive_cache_keys": _Knob(1, 1 << 22, "how many of them are remembered"),
    "unreadable_ms": _Knob(0, 3_600_000, "how long a file that gave EIO counts as absent"),
    "use_interval_s": _Knob(1, 3600, "seconds that one use log covers at most"),
    "use_keys": _Knob(1, 1 << 20, "objects in one use log; more are counted, not logged"),
    "probe_interval_ms": _Knob(10, 60_000, "pause between probes while a breaker is open; doubles if it opens again"),
    "breaker_errors": _Knob(1, 1000, "a breaker opens after this many errors, if they are half of all answers ..."),
    "breaker_window_ms": _Knob(10, 600_000, "... within this time"),
}
_FLAGS = {
    "direct_io": "O_DIRECT for reads and writes",
    "read_ahead": "tell the kernel to read the next waiting objects while one is read",
    "drop_stored_pages": "drop what was stored from the page cache",
}
_FSYNC = ("none", "data")


def parse(params: Mapping[str, Any]) -> Settings:
    """Settings from the parameters; raises SettingsError with every fault."""
    faults: list[str] = []
    known = {f.name for f in fields(Settings)}
    for key in sorted(set(params) - known, key=str):
        faults.append(f"{key}: no such parameter. Fix: remove it; there are {', '.join(sorted(known))}")
    values: dict[str, Any] = {}
    _base_path(params.get("base_path"), values, faults)
    _pod(params.get("pod"), values, faults)
    for key, knob in _KNOBS.items():
        _number(key, params.get(key, getattr(Settings, key)), knob, values, faults)
    for key in _FLAGS:
        value = values[key] = params.get(key, getattr(Settings, key))
        if not isinstance(value, bool):
            faults.append(f"{key}: {value!r} is neither true nor false. Fix: give one of both")
    fsync = values["fsync"] = params.get("fsync", Settings.fsync)
    if fsync not in _FSYNC:
        faults.append(f"fsync: {fsync!r} is no policy. Fix: give one of {', '.join(_FSYNC)}")
    if faults:
        raise SettingsError("\n".join(faults))
    return Settings(**values)


def describe() -> str:
    """The parameters, their meaning and defaults, as LMCache's help shows them."""
    lines = [
        "- base_path (str): the fingerprint's directory on the L2 volume, absolute (required)",
        "- pod (str): name of the Pod (default: POD_NAME of the environment, else the host's name)",
        f"- fsync (str): none, or data: fdatasync before an object becomes visible (default {Settings.fsync})",
    ]
    lines += [
        f"- {key} ({type(getattr(Settings, key)).__name__}): {knob.text} (default {getattr(Settings, key):g})"
        for key, knob in _KNOBS.items()
    ]
    lines += [f"- {key} (bool): {text} (default {str(getattr(Settings, key)).lower()})" for key, text in _FLAGS.items()]
    return "L2 adapter on a shared filesystem:\n" + "\n".join(lines)


def _base_path(path: object, values: dict[str, Any], faults: list[str]) -> None:
    parts = path.rstrip("/").split("/")[1:] if isinstance(path, str) else []
    if not isinstance(path, str) or not path.startswith("/") or any(p in ("", ".", "..") for p in parts) or not parts:
        faults.append(f"base_path: {path!r} is no absolute, plain path. Fix: give the fingerprint's directory")
        return
    values["base_path"] = path.rstrip("/")


def _pod(pod: object, values: dict[str, Any], faults: list[str]) -> None:
    source = "pod"
    if pod is None:
        source, pod = "POD_NAME", os.environ.get("POD_NAME")
    if pod is None:
        source, pod = "the host's name", socket.gethostname().lower()
    try:
        if not isinstance(pod, str):
            raise ValueError(f"{pod!r} is no text")
        paths.new_writer(pod)
    except ValueError as err:
        faults.append(f"pod: {err} (from {source}). Fix: give metadata.name of the Pod")
        return
    values["pod"] = pod


def _number(key: str, value: object, knob: _Knob, values: dict[str, Any], faults: list[str]) -> None:
    whole = isinstance(getattr(Settings, key), int)
    kind = int if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kind) or not knob.low <= value <= knob.high:
        what = "whole number" if whole else "number"
        faults.append(f"{key}: {value!r} is no {what} from {knob.low:g} to {knob.high:g}. Fix: give one ({knob.text})")
        return
    values[key] = value if whole else float(value)
