"""vLLM plugin, off unless TKC_ENGINE_FORK=1: start the engine's processes by fork.

vLLM on CPU spawns its engine core and its worker, and each imports all of vLLM again: 8 to 12 CPU seconds a process,
three processes an engine. On a test machine with two cores and two engines that is most of the time until Ready.
Forked processes have it all in memory already (15 s instead of 32 s for one engine, and 0.5 GB less).

Meant for tests: upstream chose spawn on purpose, because a fork copies only the calling thread.
"""

from __future__ import annotations

import os
import sys
from typing import Any


def register() -> None:
    """Called by vLLM in each of its processes, before it reads its arguments."""
    if os.environ.get("TKC_ENGINE_FORK") != "1":
        return
    from vllm.platforms.cpu import CpuPlatform

    if getattr(CpuPlatform, "_tkc_fast_start", False):
        return
    CpuPlatform._tkc_fast_start = True
    check = CpuPlatform.check_and_update_config.__func__
    overrides = CpuPlatform.register_triton_kernel_overrides.__func__

    def check_and_update_config(cls: Any, config: Any) -> None:
        check(cls, config)
        # vLLM sets "spawn" here on every CPU, whatever the environment said.
        os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = "fork"

    def register_triton_kernel_overrides(cls: Any) -> None:
        # It looks at vars() of every object in every loaded module; one of llvmlite's answers with something that is
        # not a dict. A spawned worker has not loaded llvmlite yet, a forked one has.
        hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "llvmlite"}
        try:
            overrides(cls)
        finally:
            sys.modules.update(hidden)

    CpuPlatform.check_and_update_config = classmethod(check_and_update_config)
    CpuPlatform.register_triton_kernel_overrides = classmethod(register_triton_kernel_overrides)
