"""Admission more than once, and in other company: other mutators before and after, and a Pod that is patched already."""

from __future__ import annotations

import copy

from .model import ANNOTATION, Case, Json, Patched
from .parts import EXTRA, HASH_SEED, POD_NAME, SERDE, URL, in_process, multi_process, worker_env
from .shapes import MODEL, kept_env, spec, v32, v37, value

MESH: Json = {"name": "mesh-proxy", "image": "example.com/mesh:1", "env": [value("POD_NAME", "not ours")]}
_LATER = value("INJECTED", "later")


def _again(pod: Json, parts: Patched) -> Json:
    return Case("first", pod, parts).result()


ONCE = Patched(in_process())
ONCE_MP = Patched(multi_process())


def _touched_since() -> Json:
    """Patched, then another mutator added its own."""
    pod = _again(v32(), ONCE)
    pod["spec"]["containers"][0]["env"].insert(0, _LATER)
    pod["spec"]["containers"].insert(0, copy.deepcopy(MESH))
    return pod


def _undone() -> Json:
    """Marked as patched, and not: the mark alone means nothing."""
    pod = v32()
    pod["metadata"]["annotations"] = dict(ANNOTATION)
    return pod


CASES = [
    Case("second-application", _again(v32(), ONCE), Patched({})),
    Case("mp-second-application", _again(v37(), ONCE_MP), Patched({})),
    Case("mesh-before", spec(v32(), containers=[MESH]), Patched(in_process())),
    Case(
        "mesh-after",
        _touched_since(),
        Patched({("spec", "containers", MODEL, "env"): [POD_NAME, _LATER, *kept_env(), HASH_SEED, URL, SERDE, EXTRA]}),
    ),
    Case("mark-without-patch", _undone(), Patched(in_process())),
    Case(
        "url-added-after",
        v32(env=[*worker_env(), value("LMCACHE_REMOTE_URL", "redis://late")]),
        Patched(in_process(worker_env(*kept_env(), HASH_SEED, seed=None))),
    ),
]
