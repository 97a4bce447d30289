"""`helm test` fails and says why when a Pod is broken on purpose. The release itself stays as it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from local_cluster.helm import Helm

from .api import Api, PodTemplate, wait_for

STRAY = "tiny-stray-engine"


def _containers(template: PodTemplate, *names: str) -> list[dict[str, object]]:
    return [container for container in template["spec"]["containers"] if container["name"] in names]


@contextmanager
def _stray(api: Api, release: Helm, template: PodTemplate) -> Iterator[None]:
    template["metadata"]["labels"].pop("pod-template-hash", None)
    api.stray_pod(release.namespace, STRAY, template)
    try:
        yield
    finally:
        api.remove_pod(release.namespace, STRAY)


def test_hash_seed_differs(release: Helm, api: Api) -> None:
    template = api.engine_template(release.namespace, release.release)
    for container in _containers(template, "vllm", "lmcache"):
        for variable in container["env"]:  # type: ignore[attr-defined]
            if variable["name"] == "PYTHONHASHSEED":
                variable["value"] = "4711"
    with _stray(api, release, template):
        done = release.test()
    assert not done.ok
    assert "PYTHONHASHSEED" in done.text and "4711" in done.text and STRAY in done.text, done.text


def test_fingerprint_differs(release: Helm, api: Api) -> None:
    template = api.engine_template(release.namespace, release.release)
    right = api.l2_root(api.engine_pods(release.namespace, release.release)[0])["fingerprint"]
    (init,) = [container for container in template["spec"]["initContainers"] if container["name"] == "l2-root"]
    (config,) = [variable for variable in init["env"] if variable["name"] == "TKC_L2_CONFIG"]
    config["value"] = json.dumps({**json.loads(config["value"]), "dtype": "bfloat16"})
    with _stray(api, release, template):
        done = release.test()
    assert not done.ok
    assert "L2 root differs" in done.text and STRAY in done.text and right in done.text, done.text


def test_image_cannot_be_pulled(release: Helm, api: Api) -> None:
    template = api.engine_template(release.namespace, release.release)
    for container in _containers(template, "vllm"):
        container["image"] = "localhost/tiered-kv-cache/engine-cpu:no-such-tag"
    with _stray(api, release, template):
        done = release.test()
    assert not done.ok
    assert STRAY in done.text and "no-such-tag" in done.text, done.text


def test_lmcache_is_down(release: Helm, api: Api, images: dict[str, str]) -> None:
    victim = api.engine_pods(release.namespace, release.release)[0].metadata.name
    # The hooks image knows no LMCache: the container restarts with it and ends at once, again and again.
    image = {"name": "lmcache", "image": images["hooks"]}
    api.core.patch_namespaced_pod(victim, release.namespace, {"spec": {"containers": [image]}})
    wait_for("LMCache down", lambda: _restarts(api, release, victim) > 0, 150)
    try:
        done = release.test()
    finally:
        api.core.delete_namespaced_pod(victim, release.namespace)
        wait_for("two ready Pods again", lambda: _ready(api, release, without=victim) == 2, 300)
    assert not done.ok
    assert victim in done.text and "lmcache" in done.text.lower(), done.text


def _restarts(api: Api, release: Helm, name: str) -> int:
    pod = api.core.read_namespaced_pod(name, release.namespace)
    return sum(status.restart_count for status in pod.status.container_statuses if status.name == "lmcache")


def _ready(api: Api, release: Helm, without: str) -> int:
    pods = [pod for pod in api.engine_pods(release.namespace, release.release) if pod.metadata.name != without]
    return sum(
        all(status.ready for status in pod.status.container_statuses or [None])
        for pod in pods
        if pod.status.container_statuses
    )
