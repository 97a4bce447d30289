"""Is the machine big enough, are the ports free? Everything that is missing is named at once, before anything is made."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

from ..problem import Problem
from ..settings import MIN_MEMORY_GB, PLACES


def free_disk_gb(path: Path) -> float:
    """Free space of the disk that will hold `path`, in GB (1e9 bytes)."""
    existing = next(p for p in (path, *path.parents) if p.exists())
    return shutil.disk_usage(existing).free / 1e9


def memory_gb() -> float:
    """Memory of the machine in GB, or of this process' control group where that is smaller."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes")):
        text = limit.read_text().strip() if limit.exists() else ""
        if text.isdigit():
            total = min(total, int(text))
    return total / 1e9


def port(variable: str, default: int) -> int:
    """A port from the environment.

    Raises:
        Problem: the variable holds no port number.
    """
    text = os.environ.get(variable) or str(default)
    if not (text.isdigit() and 1024 <= int(text) <= 65535):
        raise Problem(
            f"{variable}={text!r} is no port number", f"{variable}=<1024 to 65535>, or leave it out for {default}"
        )
    return int(text)


def port_is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def check_machine(ports: dict[int, str], *, min_disk_gb: float, min_memory_gb: float = MIN_MEMORY_GB) -> None:
    """Refuse a machine that cannot hold the cluster.

    Args:
        ports: local TCP ports that must be free, with the environment variable that moves each.

    Raises:
        Problem: all that is missing, each with its fix.
    """
    faults: list[tuple[str, str]] = []
    disk, memory = free_disk_gb(PLACES.cache), memory_gb()
    if disk < min_disk_gb:
        faults.append(
            (f"{PLACES.cache} has {disk:.0f} GB free, {min_disk_gb:.0f} GB are needed",
             "free space there or set XDG_CACHE_HOME to a larger disk")
        )  # fmt: skip
    if memory < min_memory_gb:
        faults.append(
            (f"{memory:.0f} GB of memory, {min_memory_gb:.0f} GB are needed for two engines and the cluster",
             "use a larger machine or raise the control group's limit")
        )  # fmt: skip
    faults += [
        (f"port 127.0.0.1:{port} is taken by another program",
         f"end that program (`ss -ltnp sport = :{port}` names it) or set {variable}=<free port>")
        for port, variable in ports.items() if not port_is_free(port)
    ]  # fmt: skip
    if faults:
        raise Problem("\n  ".join(what for what, _ in faults), "; ".join(fix for _, fix in faults))
