"""SIGKILL to vLLM, LMCache's server and the keeper at random moments, 200 times: no wrong block afterwards, no litter."""

from __future__ import annotations

import json
import os
from typing import Any

from local_cluster.settings import PLACES
from tiered_kv_cache.l2 import format as l2_format

from ..api import PodTemplate, wait_for
from ..conftest import MODEL
from ..driver import engine_pod, script_pod
from ..engines import RUN
from .conftest import HERE, Install

RUNS = int(os.environ.get("KILLS", "200"))
SCRIPT = HERE / "kills.py"
ROOT = PLACES.state / "shared" / "l2" / "v1" / "drill"


def _pod(template: PodTemplate) -> dict[str, Any]:
    """The engine's Pod with its two containers' programs, and the keeper, in one container."""
    spec = template["spec"]
    vllm, lmcache = (next(c for c in spec["containers"] if c["name"] == name) for name in ("vllm", "lmcache"))
    plan = {
        "runs": RUNS,
        "seed": RUN,
        "model": MODEL,
        "keeper": {"mount": "/mnt/kv-l2", "port": 9400, "linesOfBusiness": {"drill": {"quota": "4Gi"}}},
        **{name: {"command": c["command"] + c["args"], "env": _env(c)} for name, c in (("vllm", vllm), ("lmcache", lmcache))},
    }  # fmt: skip
    mounts = {mount["mountPath"]: mount for container in (lmcache, vllm) for mount in container["volumeMounts"]}
    # The keeper wants all of the volume, of which engines see their own tree.
    mounts = {path: mount for path, mount in mounts.items() if mount["name"] != "l2"}
    mounts["/mnt/kv-l2"] = {"name": "l2", "mountPath": "/mnt/kv-l2"}
    container = {
        "image": vllm["image"],
        "command": ["python3", f"/script/{SCRIPT.name}"],
        "args": [json.dumps(plan)],
        "env": [one for one in vllm["env"] if one["name"] in ("POD_NAME", "HOME")],
        "securityContext": vllm["securityContext"],
        "volumeMounts": list(mounts.values()),
        "resources": {"requests": {"cpu": "250m", "memory": "2Gi"}, "limits": {"memory": "6Gi"}},
    }
    return engine_pod(template, SCRIPT, container)


def _env(container: dict[str, Any]) -> dict[str, str]:
    return {"OMP_NUM_THREADS": "2", **{one["name"]: one["value"] for one in container["env"] if "value" in one}}


def test_killed_at_any_moment(install: Install) -> None:
    engines = install(replicas=1, l2={"keeper": {"enabled": False}})
    api, namespace = engines.api, engines.namespace
    template = api.engine_template(namespace, engines.release)
    # Its processor and memory are for the loop.
    api.apps.patch_namespaced_deployment_scale(
        f"{engines.release}-{MODEL}-engine", namespace, {"spec": {"replicas": 0}}
    )
    engines.ready(0)
    with script_pod(api, namespace, SCRIPT, _pod(template)) as running:
        wait_for("the runs", running.ended, 3600)
        report = running.last_line()
    print(json.dumps(report, indent=1))
    assert not report["wrong"], "\n".join(report["wrong"])
    assert not report["failed"], "\n".join(report["failed"])
    assert report["chunks hit in L2 afterwards"] >= RUNS, "too few hits: nothing was put to the proof"
    assert report["last round of the keeper"] == 0
    objects = list(ROOT.rglob("objects/*/*/*.kv"))
    assert objects
    for path in objects:
        content = path.read_bytes()
        header = l2_format.decode_header(content)
        assert (header.name, header.file_length) == (path.stem, len(content))
        assert header.payload_checksum == l2_format.payload_checksum(content[l2_format.HEADER :]), path
    assert not list(ROOT.rglob("*.tmp"))
