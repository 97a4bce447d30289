"""What the emulated operator renders is what the L2 patch (docs/l2-patch.md) is made for, in every variant."""

from __future__ import annotations

import json

import pytest

from emulators.operator.options import Json, Options
from emulators.operator.render import render
from tiered_kv_cache.patch.apply import patch
from tiered_kv_cache.patch.outcome import Refused

from .iecs import iec, of_kind, variables, worker

OURS: Json = {
    "initContainers": [
        {"name": "tkc-code", "image": "hooks", "args": ["copy-code"], "volumeMounts": [{"name": "tkc-run", "mountPath": "/run/tkc"}]},
        {"name": "tkc-l2-root", "image": "hooks", "args": ["l2-root"], "volumeMounts": [{"name": "tkc-run", "mountPath": "/run/tkc"}]},
    ],
    "volumes": [
        {"name": "tkc-l2", "persistentVolumeClaim": {"claimName": "kv"}},
        {"name": "tkc-run", "emptyDir": {}},
    ],
}  # fmt: skip
"""What the chart adds to an IEC, as far as the patch looks at it."""

PARAMETERS = {"default.models": "qwen", "default.claim": "kv", "default.mountPath": "/mnt/kv", "default.hashSeed": "0"}
GUARDED = {**PARAMETERS, "default.adapter": "guarded"}
URL = "fs://localhost:0/run/tkc/l2/"


def pod(version: str, *variants: str, options: Options | None = None, **changes: object) -> Json:
    """A Pod as its ReplicaSet creates it; `options` in place of version and variants."""
    options = options or Options(version, variants=frozenset(variants))
    made = render(iec(kubernetes=OURS, **changes), options)  # type: ignore[arg-type]
    template = of_kind(made, "Deployment", "qwen")["spec"]["template"]
    metadata = {**template["metadata"], "generateName": "qwen-", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def patched(given: Json, data: dict[str, str]) -> Json:
    """The patched Pod; a second application changes nothing."""
    once = patch(given, data, "default").pod
    assert patch(once, data, "default").pod == once
    return once


def container(given: Json, name: str) -> Json:
    (found,) = [each for each in given["spec"]["containers"] if each["name"] == name]
    return dict(found)


def mounts(given: Json) -> set[str]:
    return {each["mountPath"] for each in given["volumeMounts"]}


@pytest.mark.parametrize("variant", [None, "duplicate-env", "strip-lmcache"])
def test_in_process_one_url_is_left_and_the_operators_json_stays(variant: str | None) -> None:
    given = worker(
        environmentVariables=variables(LMCACHE_REMOTE_URL="redis://mine", LMCACHE_EXTRA_CONFIG='{"mine": 1}')
    )
    before = pod("3.2", *([variant] if variant else []), worker=given)
    after = container(patched(before, PARAMETERS), "qwen")
    env = [(each["name"], each.get("value")) for each in after["env"]]
    assert env[0][0] == "POD_NAME"
    assert [value for name, value in env if name == "LMCACHE_REMOTE_URL"] == [URL]
    (extra,) = [value for name, value in env if name == "LMCACHE_EXTRA_CONFIG"]
    assert extra
    # The last entry counts: with duplicates it is the user's.
    kept = {"mine": 1} if variant == "duplicate-env" else {"sagemaker_hyperpod_shared_memory_name": "ai_toolkit_cache"}
    assert json.loads(extra) == {**kept, "fs_connector_relative_tmp_dir": ".tmp-$(POD_NAME)"}
    assert mounts(after) >= {"/mnt/kv", "/run/tkc", "/dev/shm/ai_toolkit_cache", "/etc/lmcache"}


@pytest.mark.parametrize(("data", "kind"), [(PARAMETERS, "fs"), (GUARDED, "plugin")])
def test_multi_process_the_server_gets_one_adapter(data: dict[str, str], kind: str) -> None:
    after = patched(pod("3.7"), data)
    server = container(after, "lmcache-server")
    assert server["args"].count("--l2-adapter") == 1
    assert json.loads(server["args"][-1])["type"] == kind
    assert "ai_toolkit" not in " ".join(server["args"])
    assert mounts(server) >= {"/mnt/kv", "/run/tkc", "/dev/shm"}
    assert not mounts(container(after, "qwen")) & {"/mnt/kv", "/run/tkc"}


@pytest.mark.parametrize("version", ["3.2", "3.7"])
def test_sidecars_are_left_alone(version: str) -> None:
    before = pod(version)
    after = patched(before, GUARDED)
    for name in ("sidecar-reverse-proxy", "otel-collector"):
        assert container(after, name) == container(before, name)


@pytest.mark.parametrize("variant", ["shell-server", "native-sidecar"])
def test_a_server_that_cannot_be_patched_is_refused(variant: str) -> None:
    """Never an unpatched Pod: it would run, and nobody would see that it shares nothing."""
    with pytest.raises(Refused, match="lmcache-server"):
        patch(pod("3.7", variant), PARAMETERS, "default")


@pytest.mark.parametrize("version", ["3.2", "3.7"])
def test_router_pods_are_not_the_patchs(version: str) -> None:
    made = render(iec(kubernetes=OURS), Options(version))
    template = of_kind(made, "Deployment", "qwen-default-router")["spec"]["template"]
    router = {"metadata": template["metadata"], "spec": template["spec"]}
    assert patch(router, PARAMETERS, "default").pod is router
