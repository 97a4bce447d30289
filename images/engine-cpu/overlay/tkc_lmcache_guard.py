"""vLLM plugin: a store that LMCache's server does not answer is dropped, instead of ending the engine.

LMCache 0.5.6 prepares a store in the worker's forward step on CPUs, and raises LMCacheTimeoutError there when its server was
killed meanwhile: the executor takes that for its own death. On GPUs a thread of its own prepares stores, and catches it.

LMCache is not imported for this: vLLM loads its plugins in every process, before it forks, and most need no LMCache. The
class is changed when the one process that uses it imports it.
"""

from __future__ import annotations

import importlib.util
import logging
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

MODULE = "lmcache.v1.multiprocess.transfer_context.worker_transfer"

logger = logging.getLogger("vllm.tkc_lmcache_guard")


def register() -> None:
    """Called by vLLM in each of its processes. Without LMCache, or with another shape of it, nothing is changed."""
    if MODULE in sys.modules:
        guard(sys.modules[MODULE])
    elif not any(isinstance(each, Finder) for each in sys.meta_path):
        sys.meta_path.insert(0, Finder())


class Finder:
    """Finds LMCache's module as Python would, once, and changes it when it has been executed."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != MODULE:
            return None
        sys.meta_path.remove(self)  # type: ignore[arg-type]
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            guard(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def guard(module: Any) -> None:
    """Let a store end without success where it would raise."""
    context = getattr(module, "EngineDrivenTransferContext", None)
    if context is None or not hasattr(module, "MessagingFuture") or getattr(context.submit_store, "guarded", False):
        return
    inner, future_class = context.submit_store, module.MessagingFuture

    def submit_store(self: Any, *arguments: Any, **more: Any) -> Any:
        try:
            return inner(self, *arguments, **more)
        except TimeoutError as error:
            logger.warning("a store is dropped: %s", error)
            future = future_class()
            future.set_result(False)
            return future

    submit_store.guarded = True  # type: ignore[attr-defined]
    context.submit_store = submit_store
