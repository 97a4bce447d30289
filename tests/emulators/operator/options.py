"""What an operator is started with: its version, what it is known to do differently, and what this cluster needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Json = dict[str, Any]
Mode = Literal["InProcess", "MultiProcess"]

VARIANTS = {
    "duplicate-env": "LMCACHE_* of the IEC stand after the operator's own, so that a name may stand there twice (observed)",
    "strip-lmcache": "LMCACHE_* of the IEC vanish (observed on v3.2.0)",
    "shell-server": "the LMCache server is started by a shell line (inferred)",
    "native-sidecar": "the LMCache server is an init container that keeps running (inferred)",
}
"""Name -> how such an operator differs."""

MULTI_PROCESS_SINCE = (3, 7)
"""The first version with LMCache's multi-process mode (observed in AWS's release notes)."""

SLEEP = ["python", "-c", "import signal as s; s.pthread_sigmask(s.SIG_BLOCK, {s.SIGTERM}); s.sigwait({s.SIGTERM})"]
"""A container that does nothing until it is to end, in an image with Python. The kernel drops a signal that a container's first process
neither blocks nor handles."""

RELAY = """\
import asyncio, os, signal, sys
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
async def pump(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()
async def serve(reader, writer):
    try:
        there = await asyncio.open_connection("127.0.0.1", int(sys.argv[2]))
    except OSError:
        return writer.close()
    await asyncio.gather(pump(reader, there[1]), pump(there[0], writer))
async def main():
    await (await asyncio.start_server(serve, port=int(sys.argv[1]))).serve_forever()
asyncio.run(main())
"""
"""What a reverse proxy does at its least: arguments are the port to listen on and the worker's."""


@dataclass(frozen=True)
class Images:
    """Images beside the worker's own.

    Args:
        side: stands in for nginx and the OpenTelemetry collector, must have Python; "" for the real names.
        router: of the router.
        prefetch: of the init container that downloads weights.
    """

    side: str = ""
    router: str = "emulator.invalid/hyperpod-inference-router"
    prefetch: str = "emulator.invalid/hyperpod-inference-prefetch"


@dataclass(frozen=True)
class Options:
    """How this operator renders.

    Args:
        version: such as "3.2".
        mode: of IECs that name none; "" for the version's: multi-process since 3.7 (inferred).
        images: see there.
        variants: names of VARIANTS.
        overrides: what the cluster's machines need, see overrides.py.

    Raises:
        ValueError: an unknown variant or version.
    """

    version: str = "3.2"
    mode: Mode | Literal[""] = ""
    images: Images = field(default_factory=Images)
    variants: frozenset[str] = frozenset()
    overrides: Json = field(default_factory=dict)

    def __post_init__(self) -> None:
        if unknown := self.variants - VARIANTS.keys():
            raise ValueError(f"unknown variants {sorted(unknown)}; there are {', '.join(VARIANTS)}")
        _ = self.numbers

    @property
    def numbers(self) -> tuple[int, ...]:
        """The version as numbers."""
        return tuple(int(part) for part in self.version.removeprefix("v").split("."))

    def mode_of(self, iec: Json) -> Mode:
        """LMCache's mode of an IEC. The name `lmcache.mode` is observed, its place in `spec` is inferred."""
        spec = iec["spec"]
        for place in (spec, spec.get("kvCacheSpec") or {}):
            if wanted := (place.get("lmcache") or {}).get("mode"):
                return "MultiProcess" if wanted == "MultiProcess" else "InProcess"
        if self.mode:
            return self.mode
        return "MultiProcess" if self.numbers >= MULTI_PROCESS_SINCE else "InProcess"
