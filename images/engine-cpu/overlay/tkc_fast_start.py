"""vLLM plugin, off unless TKC_ENGINE_FORK=1: start the engine's processes by fork, from one that has imported vLLM.

vLLM on CPU spawns its engine core and its worker, and each imports all of vLLM again: 6 to 12 CPU seconds a process,
three processes an engine. On a test machine with two cores and two engines that is most of the time until Ready.

A fork copies only the calling thread, and locks that other threads hold stay locked for ever in the copy: nothing may be
forked from the engine core, which has a dozen threads when it starts its worker. So there is a process that never has a
second thread: forked here, as soon as vLLM has been imported, before it reads its arguments. It is multiprocessing's fork
server, and forks the engine core and the worker. Where this process already has threads (OPENBLAS_NUM_THREADS=1 is needed
for one), nothing is changed and vLLM spawns.
"""

from __future__ import annotations

import contextlib
import multiprocessing.context
import os
import sys
import threading
from multiprocessing import forkserver, util
from pathlib import Path
from typing import Any

import tkc_lmcache_guard

IMPORTED = ["vllm.v1.engine.core", "vllm.v1.worker.cpu_worker", "vllm.model_executor.models.llama"]


def register() -> None:
    """Called by vLLM in each of its processes, before it reads its arguments."""
    if os.environ.get("TKC_ENGINE_FORK") != "1" or "spawn" not in multiprocessing.context._concrete_contexts:
        return
    if isinstance(multiprocessing.context._concrete_contexts["spawn"], ForkServer):
        return
    threads = list(Path("/proc/self/task").iterdir())
    if len(threads) > 1:
        print(f"TKC_ENGINE_FORK: {len(threads)} threads already run here, so processes are spawned", file=sys.stderr)
        return
    # vLLM loads its plugins once, in any order: the forked processes have what was registered before the fork server began.
    tkc_lmcache_guard.register()
    _hide_llvmlite()
    # vLLM sets "spawn" on every CPU, whatever the environment said; what that means is decided here.
    multiprocessing.context._concrete_contexts["spawn"] = ForkServer()
    _start()


class Process(multiprocessing.context.ForkServerProcess):
    """A process of the fork server with the environment of the process that starts it, as a spawned one has."""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_environment": dict(os.environ)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        environment = state.pop("_environment")
        for name in os.environ.keys() - environment.keys():
            del os.environ[name]
        os.environ.update(environment)
        self.__dict__.update(state)


class ForkServer(multiprocessing.context.ForkServerContext):
    """Takes the place of multiprocessing's "spawn"."""

    Process = Process


def _start() -> None:
    """Start multiprocessing's fork server as a fork of this process, where it would run another Python."""
    run = util.spawnv_passfds
    util.spawnv_passfds = _fork
    try:
        forkserver.set_forkserver_preload(IMPORTED)
        forkserver.ensure_running()
    finally:
        util.spawnv_passfds = run


def _fork(path: bytes, arguments: list[str], kept: list[int]) -> int:
    if "forkserver" not in arguments[-1]:  # the resource tracker: small, and a Python of its own
        return _run(path, arguments, kept)
    child = os.fork()
    if child:
        return child
    try:
        # As after an exec: no file but those meant for it, and a lock that nobody holds.
        for number in {int(file.name) for file in Path("/proc/self/fd").iterdir()} - {0, 1, 2, *kept}:
            with contextlib.suppress(OSError):
                os.close(number)
        forkserver._forkserver._lock = threading.Lock()
        # What is forked here asks this server too, where it would start one of its own.
        forkserver._forkserver.ensure_running = lambda: None
        util.spawnv_passfds = _run
        exec(arguments[-1], {})
    except SystemExit:
        os._exit(0)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    os._exit(1)


_run = util.spawnv_passfds


def _hide_llvmlite() -> None:
    """vLLM's CPU worker looks at vars() of every object in every loaded module, and one of llvmlite's answers with
    something that is not a dict. A spawned worker has not loaded llvmlite yet, a forked one has."""
    from vllm.platforms.cpu import CpuPlatform

    overrides = CpuPlatform.register_triton_kernel_overrides.__func__

    def register_triton_kernel_overrides(cls: Any) -> None:
        hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "llvmlite"}
        try:
            overrides(cls)
        finally:
            sys.modules.update(hidden)

    CpuPlatform.register_triton_kernel_overrides = classmethod(register_triton_kernel_overrides)
