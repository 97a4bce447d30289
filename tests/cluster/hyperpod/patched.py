"""Whether every Pod of an endpoint is patched, from the first moment of each on."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

from kubernetes import client, watch

from local_cluster import kube
from tiered_kv_cache.patch import names

Json = dict[str, Any]

SELECTOR = "=".join(names.LABEL_OPERATOR)
BASE = f"{names.RUN_PATH}/l2"


def faults(pod: Json) -> list[str]:
    """What a Pod lacks of the patch; told by what LMCache reads, not by the annotation alone."""
    found = []
    if (pod["metadata"].get("annotations") or {}).get(names.ANNOTATION) != names.VERSION:
        found.append("no annotation")
    home, said = _lmcache(pod)
    if said != 1:
        found.append(f"{said} times {BASE} in {home['name']}")
    mounts = {each["name"] for each in home.get("volumeMounts", [])}
    found += [f"no mount {name}" for name in (names.VOLUME_L2, names.VOLUME_RUN) if name not in mounts]
    if "sagemaker-hyperpod:" in json.dumps(home) or '"sagemaker-hyperpod"' in json.dumps(home):
        found.append("AWS's tier is still there")
    return found


def _lmcache(pod: Json) -> tuple[Json, int]:
    """The container that LMCache runs in, and how many adapters or URLs there lead to the volume."""
    for container in pod["spec"]["containers"]:
        words = [*container.get("command", []), *container.get("args", [])]
        if "lmcache" in words and "server" in words:
            return container, sum("base_path" in word and BASE in word for word in words)
    model = pod["metadata"]["labels"][names.LABEL_MODEL]
    (worker,) = [each for each in pod["spec"]["containers"] if each["name"] == model]
    urls = [each["value"] for each in worker.get("env", []) if each["name"] == names.ENV_URL]
    return worker, len(urls) if urls == [f"fs://localhost:0{BASE}/"] else 0


class Watched:
    """Every Pod of the operator in a namespace since this was made.

    Args:
        kubeconfig: of the cluster.
        namespace: of the endpoints.
    """

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        self.seen: dict[str, str] = {}
        """Uid -> name of each Pod."""
        self.unpatched: dict[str, list[str]] = {}
        """Name -> faults."""
        self._core, self._namespace = client.CoreV1Api(kube.api(kubeconfig)), namespace
        now = self._core.list_namespaced_pod(namespace, label_selector=SELECTOR)
        for each in now.items:
            self._take(self._core.api_client.sanitize_for_serialization(each))
        self._thread = threading.Thread(target=self._run, args=(now.metadata.resource_version,), daemon=True)
        self._thread.start()

    def _run(self, version: str) -> None:
        """Ends with an error where events may have been missed: `unharmed` tells."""
        listed = self._core.list_namespaced_pod
        for event in watch.Watch().stream(listed, self._namespace, label_selector=SELECTOR, resource_version=version):
            self._take(event["raw_object"])

    def _take(self, pod: Json) -> None:
        self.seen[pod["metadata"]["uid"]] = pod["metadata"]["name"]
        if found := faults(pod):
            self.unpatched[pod["metadata"]["name"]] = found

    def unharmed(self) -> None:
        """Look at all that was seen.

        Raises:
            AssertionError: a Pod was not patched, no Pod was seen, or the watch has ended.
        """
        assert self._thread.is_alive(), "the watch has ended: Pods may have been missed"
        assert self.seen
        assert not self.unpatched
