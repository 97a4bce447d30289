"""What one needs to understand a failure: events, objects and logs of a namespace, in one folder."""

from __future__ import annotations

import time
from pathlib import Path

import urllib3
import yaml
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from . import kube
from .settings import PLACES

_TAIL_LINES = 2000


def collect(kubeconfig: Path, namespaces: list[str], label: str) -> Path:
    """Write the bundle and return its folder. Never raises: what cannot be read is named in the bundle.

    Args:
        label: part of the folder's name, such as the failed test.
    """
    folder = PLACES.cache / "diagnostics" / f"{time.strftime('%Y%m%d-%H%M%S')}-{label}"
    folder.mkdir(parents=True, exist_ok=True)
    errors: list[str] = []
    try:
        core = kube.core(kubeconfig)
        _write(folder / "nodes.yaml", core, core.list_node(_request_timeout=20))
        for namespace in namespaces:
            _namespace(core, namespace, folder / namespace, errors)
    except (ApiException, urllib3.exceptions.HTTPError, OSError) as error:
        errors.append(f"cluster: {error}")
    if errors:
        (folder / "not-read.txt").write_text("\n".join(errors))
    return folder


def _namespace(core: client.CoreV1Api, namespace: str, folder: Path, errors: list[str]) -> None:
    folder.mkdir(exist_ok=True)
    events = core.list_namespaced_event(namespace, _request_timeout=20).items
    events.sort(key=lambda event: str(event.last_timestamp or event.event_time or event.metadata.creation_timestamp))
    lines = [
        f"{e.last_timestamp or e.event_time} {e.type} {e.reason} {e.involved_object.kind}/{e.involved_object.name}: {e.message}"
        for e in events
    ]
    (folder / "events.txt").write_text("\n".join(lines))
    pods = core.list_namespaced_pod(namespace, _request_timeout=20)
    _write(folder / "pods.yaml", core, pods)
    _write(folder / "claims.yaml", core, core.list_namespaced_persistent_volume_claim(namespace, _request_timeout=20))
    for pod in pods.items:
        states = [*(pod.status.init_container_statuses or []), *(pod.status.container_statuses or [])]
        for state in states:
            for previous in (False, True) if state.restart_count else (False,):
                name = f"{pod.metadata.name}-{state.name}{'-previous' if previous else ''}.log"
                try:
                    text = core.read_namespaced_pod_log(
                        pod.metadata.name,
                        namespace,
                        container=state.name,
                        previous=previous,
                        tail_lines=_TAIL_LINES,
                        _request_timeout=20,
                    )
                except ApiException as error:
                    errors.append(f"{namespace}/{name}: {error.reason}")
                else:
                    (folder / name).write_text(text or "")


def _write(path: Path, core: client.CoreV1Api, value: object) -> None:
    path.write_text(yaml.safe_dump(core.api_client.sanitize_for_serialization(value), sort_keys=False))
