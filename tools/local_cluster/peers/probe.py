"""Asks an engine Pod which of LMCache's L2 adapters it could use."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from kubernetes import client
from kubernetes.client.exceptions import ApiException
from kubernetes.stream import stream

from tiered_kv_cache import names
from tiered_kv_cache.verify.waiting import selector

from .. import kube
from .table import Absent

MARK = "PEERS "
SCRIPT = f"""
import importlib, json, sys
said = {{}}
for module in json.loads(sys.argv[1]):
    try:
        importlib.import_module(module)
        said[module] = ""
    except Exception as error:
        said[module] = f"{{type(error).__name__}}: {{error}}"
print("{MARK}" + json.dumps(said))
"""


def reasons(kubeconfig: Path, namespace: str, release: str, absent: Iterable[Absent]) -> list[dict[str, str]]:
    """Each with why it was not measured, and the interpreter's own words where a module is missing; for `bench peers --missing`."""
    absent = list(absent)
    said = _ask(kubeconfig, namespace, release, [each.module for each in absent if each.module])
    return [{"peer": each.name, "why": told(each, said)} for each in absent]


def told(absent: Absent, said: dict[str, str]) -> str:
    """One reason. An engine that has the module contradicts the table, and the reader must see that."""
    if not absent.module or absent.module not in said:
        return absent.why
    error = said[absent.module]
    return (
        f"{absent.why} ({error})"
        if error
        else f"{absent.why}; but this engine can import {absent.module}: it could be measured"
    )


def _ask(kubeconfig: Path, namespace: str, release: str, modules: list[str]) -> dict[str, str]:
    """Module -> the error of its import, empty where there is none; nothing at all where no Pod can be asked."""
    core = client.CoreV1Api(kube.api(kubeconfig))  # The stream changes its client for good.
    pods = core.list_namespaced_pod(namespace, label_selector=selector(release)).items
    if not pods:
        return {}
    command = ["python3", "-c", SCRIPT, json.dumps(modules)]
    try:
        out = stream(
            core.connect_get_namespaced_pod_exec, pods[0].metadata.name, namespace, container=names.CONTAINER_LMCACHE, command=command,
            stdin=False, stdout=True, stderr=False, tty=False, _request_timeout=120,
        )  # fmt: skip
    except ApiException:
        return {}
    return parse(str(out))


def parse(out: str) -> dict[str, str]:
    """What the script printed, among whatever libraries print."""
    for line in out.splitlines():
        if line.startswith(MARK):
            return dict(json.loads(line.removeprefix(MARK)))
    return {}
