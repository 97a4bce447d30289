"""What the emulated operator renders; the whole of it for both shapes in golden/, to be reviewed as a diff."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from emulators.operator.names import SYSTEM
from emulators.operator.options import RELAY, SLEEP, VARIANTS, Images, Json, Options
from emulators.operator.overrides import check, merge_patch
from emulators.operator.pod import Refused
from emulators.operator.render import render
from ports import free_ports

from .iecs import container, iec, of_kind, variables, worker

GOLDEN = Path(__file__).parent / "golden"
URL = "LMCACHE_REMOTE_URL"
V32, V37 = Options("3.2"), Options("3.7")


def env_names(objects: list[Json], name: str = "qwen") -> list[str]:
    return [each["name"] for each in container(objects, name).get("env", [])]


@pytest.mark.parametrize("version", ["3.2", "3.7"])
def test_the_whole_shape(version: str, request: pytest.FixtureRequest) -> None:
    text = yaml.safe_dump_all(render(iec(), Options(version)), sort_keys=False, width=150)
    path = GOLDEN / f"operator-{version}.yaml"
    if request.config.getoption("--update-golden"):
        path.write_text(text)
    assert path.read_text() == text, "make golden, then review the diff"


def test_v32_has_three_containers_and_lmcache_in_the_worker() -> None:
    objects = render(iec(), V32)
    deployment = of_kind(objects, "Deployment", "qwen")
    pod = deployment["spec"]["template"]
    assert [each["name"] for each in pod["spec"]["containers"]] == ["qwen", "sidecar-reverse-proxy", "otel-collector"]
    assert pod["metadata"]["labels"] == {"app": "qwen", "deploying-service": "hyperpod-inference"}
    args = container(objects, "qwen")["args"]
    assert args[-2] == "--kv-transfer-config"
    assert json.loads(args[-1]) == {"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}
    assert env_names(objects) == [
        "LMCACHE_REMOTE_SERDE", "PYTHONHASHSEED", "LMCACHE_CONTROLLER_PULL_URL", "LMCACHE_CONFIG_FILE", "NODE_IP", URL,
        "LMCACHE_EXTRA_CONFIG",
    ]  # fmt: skip
    values = {each["name"]: each.get("value") for each in container(objects, "qwen")["env"]}
    assert values[URL] == "sagemaker-hyperpod://$(NODE_IP):9200"
    assert json.loads(values["LMCACHE_EXTRA_CONFIG"]) == {"sagemaker_hyperpod_shared_memory_name": "ai_toolkit_cache"}
    mounts = {each["name"] for each in container(objects, "qwen")["volumeMounts"]}
    assert mounts == {"model-weights", "lmcache-config", "host-shm"}


def test_v37_has_a_server_beside_the_worker() -> None:
    objects = render(iec(), V37)
    server = container(objects, "lmcache-server")
    assert server["command"] == ["lmcache", "server"]
    assert server["image"] == container(objects, "qwen")["image"]
    assert "--l2-adapter" in server["args"]
    transfer = json.loads(container(objects, "qwen")["args"][-1])
    assert transfer["kv_connector"] == "LMCacheMPConnector"
    port = transfer["kv_connector_extra_config"]["lmcache.mp.port"]
    assert server["args"][server["args"].index("--port") + 1] == str(port)
    assert URL not in env_names(objects)
    assert not [each for each in objects if each["kind"] == "ConfigMap"]


@pytest.mark.parametrize("version", ["3.2", "3.7"])
def test_no_l2_when_it_is_off(version: str) -> None:
    objects = render(iec(kvCacheSpec={"enableL2Cache": False}), Options(version))
    assert not {URL, "NODE_IP", "LMCACHE_EXTRA_CONFIG"} & set(env_names(objects))
    assert "host-shm" not in json.dumps(objects)
    assert "--l2-adapter" not in json.dumps(objects)
    assert "--kv-transfer-config" in container(objects, "qwen")["args"]


@pytest.mark.parametrize("version", ["3.2", "3.7"])
def test_no_lmcache_without_caches(version: str) -> None:
    text = json.dumps(render(iec(kvCacheSpec={"enableL1Cache": False}), Options(version)))
    assert "--kv-transfer-config" not in text
    assert "lmcache-server" not in text
    assert "lmcache-config" not in text


def test_a_connector_of_the_user_is_the_only_one() -> None:
    given = ["--kv-transfer-config", '{"kv_connector":"other"}']
    assert container(render(iec(worker=worker(args=given)), V32), "qwen")["args"] == given


def test_the_mode_of_an_iec_wins_over_the_options() -> None:
    caches = {"enableL2Cache": True, "lmcache": {"mode": "InProcess"}}
    assert URL in env_names(render(iec(kvCacheSpec=caches), V37))
    assert URL in env_names(render(iec(), Options("3.7", mode="InProcess")))
    assert "lmcache-server" in json.dumps(render(iec(lmcache={"mode": "MultiProcess"}), V32))


USER = variables(A="1", LMCACHE_REMOTE_URL="redis://mine", LMCACHE_REMOTE_SERDE="naive")


def test_a_variable_of_the_user_gives_way_to_the_operators() -> None:
    env = container(render(iec(worker=worker(environmentVariables=USER)), V32), "qwen")["env"]
    assert [each["value"] for each in env if each["name"] == URL] == ["sagemaker-hyperpod://$(NODE_IP):9200"]
    assert env[:2] == variables(A="1", LMCACHE_REMOTE_SERDE="naive")


def test_duplicate_env_holds_a_name_twice_with_the_users_last() -> None:
    options = Options("3.2", variants=frozenset({"duplicate-env"}))
    env = container(render(iec(worker=worker(environmentVariables=USER)), options), "qwen")["env"]
    assert [each["value"] for each in env if each["name"] == URL] == [
        "sagemaker-hyperpod://$(NODE_IP):9200",
        "redis://mine",
    ]
    assert Counter(each["name"] for each in env)["LMCACHE_REMOTE_SERDE"] == 1


def test_strip_lmcache_takes_the_users_away() -> None:
    options = Options("3.2", variants=frozenset({"strip-lmcache"}))
    env = container(render(iec(worker=worker(environmentVariables=USER)), options), "qwen")["env"]
    assert "LMCACHE_REMOTE_SERDE" not in {each["name"] for each in env}
    assert env[0]["name"] == "A"


def test_a_server_by_shell_is_one_line() -> None:
    objects = render(iec(), Options("3.7", variants=frozenset({"shell-server"})))
    server = container(objects, "lmcache-server")
    assert server["command"][:2] == ["/bin/sh", "-c"]
    assert server["command"][2].startswith("lmcache server --host")
    assert "args" not in server


def test_a_native_sidecar_is_an_init_container_that_stays() -> None:
    spec = of_kind(render(iec(), Options("3.7", variants=frozenset({"native-sidecar"}))), "Deployment", "qwen")
    pod = spec["spec"]["template"]["spec"]
    assert pod["initContainers"][-1]["name"] == "lmcache-server"
    assert pod["initContainers"][-1]["restartPolicy"] == "Always"
    assert "lmcache-server" not in [each["name"] for each in pod["containers"]]


def test_fields_of_kubernetes_are_honoured() -> None:
    given = {
        "initContainers": [{"name": "tkc-l2-root", "image": "hooks"}],
        "volumes": [{"name": "tkc-run", "emptyDir": {}}, {"name": "host-shm", "emptyDir": {}}],
        "serviceAccountName": "mine",
        "schedulerName": "other",
        "tolerations": [{"operator": "Exists"}],
        "podTemplateAnnotations": {"a": "b"},
    }
    template = of_kind(render(iec(kubernetes=given), V32), "Deployment", "qwen")["spec"]["template"]
    pod = template["spec"]
    assert [each["name"] for each in pod["initContainers"]] == ["prefetch-qwen-inf", "tkc-l2-root"]
    assert Counter(each["name"] for each in pod["volumes"])["host-shm"] == 1
    assert {"name": "host-shm", "emptyDir": {}} in pod["volumes"]
    assert {"name": "tkc-run", "emptyDir": {}} in pod["volumes"]
    assert (pod["serviceAccountName"], pod["schedulerName"]) == ("mine", "other")
    assert pod["tolerations"] == [{"operator": "Exists"}]
    assert template["metadata"]["annotations"] == {"a": "b"}


def test_weights_of_a_kubernetes_volume() -> None:
    volume = {"name": "model-weights", "persistentVolumeClaim": {"claimName": "models"}}
    source = {"modelSourceType": "kubernetesVolume"}
    objects = render(iec(modelSourceConfig=source, kubernetes={"volumes": [volume]}), V32)
    pod = of_kind(objects, "Deployment", "qwen")["spec"]["template"]["spec"]
    assert [each for each in pod["volumes"] if each["name"] == "model-weights"] == [volume]
    assert "initContainers" not in pod


def test_weights_of_a_bucket() -> None:
    s3 = {"bucketName": "weights", "region": "us-west-2"}
    source = {"modelSourceType": "s3", "s3Storage": s3}
    pod = of_kind(render(iec(modelSourceConfig=source), V32), "Deployment", "qwen")["spec"]["template"]["spec"]
    assert {"name": "model-weights", "persistentVolumeClaim": {"claimName": "qwen-model"}} in pod["volumes"]
    fetched = container(render(iec(modelSourceConfig={**source, "prefetchEnabled": True}), V32), "prefetch-qwen-inf")
    assert {"name": "MODEL", "value": "weights"} in fetched["env"]


def test_only_the_prefetch_container_gets_the_token() -> None:
    model = {"modelId": "a/b", "tokenSecretRef": {"name": "hf", "key": "token"}}
    objects = render(iec(modelSourceConfig={"modelSourceType": "huggingface", "huggingFaceModel": model}), V32)
    assert "HF_TOKEN" in env_names(objects, "prefetch-qwen-inf")
    assert "HF_TOKEN" not in env_names(objects)


@pytest.mark.parametrize("volumes", [[], [{"name": "model-weights"}, {"name": "model-weights-copy"}]])
def test_a_wrong_volume_is_refused(volumes: list[Json]) -> None:
    source = {"modelSourceType": "kubernetesVolume"}
    with pytest.raises(Refused) as refused:
        render(iec(modelSourceConfig=source, kubernetes={"volumes": volumes}), V32)
    assert refused.value.reason == "KubernetesVolumeValidationFailed"


def test_probes_of_the_iec_or_one_of_a_second() -> None:
    given = {"livenessProbe": {"tcpSocket": {"port": 8000}}}
    with_own = container(render(iec(worker=worker(probes=given)), V32), "qwen")
    assert with_own["livenessProbe"] == {"tcpSocket": {"port": 8000}}
    assert "readinessProbe" not in with_own
    without = container(render(iec(loadBalancer={"healthCheckPath": "/health"}), V32), "qwen")
    assert without["readinessProbe"]["httpGet"] == {"path": "/health", "port": 8000}


def test_instance_types_are_preferred_in_their_order() -> None:
    objects = render(iec(instanceType=None, instanceTypes=["ml.a", "ml.b"]), V32)
    affinity = of_kind(objects, "Deployment", "qwen")["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    assert [each["weight"] for each in affinity["preferredDuringSchedulingIgnoredDuringExecution"]] == [100, 99]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == ["ml.a", "ml.b"]


def test_nothing_is_owned_across_namespaces() -> None:
    """The garbage collector removes an object whose owner is in another namespace."""
    objects = render(iec(), V32)
    owned = {each["metadata"]["namespace"] for each in objects if "ownerReferences" in each["metadata"]}
    free = {each["metadata"]["namespace"] for each in objects if "ownerReferences" not in each["metadata"]}
    assert (owned, free) == ({"default"}, {SYSTEM})


def test_services_lead_to_proxy_and_router() -> None:
    objects = render(iec(), V32)
    assert of_kind(objects, "Service", "qwen-routing-service")["spec"]["ports"][0]["targetPort"] == 8081
    routing = of_kind(objects, "Service", "qwen-default-routing-service")
    assert routing["metadata"]["namespace"] == SYSTEM
    router = of_kind(objects, "Deployment", "qwen-default-router")
    assert routing["spec"]["selector"] == router["spec"]["template"]["metadata"]["labels"]
    assert router["spec"]["template"]["spec"]["containers"][0]["name"] == "router-container"


def test_no_router_without_routing() -> None:
    objects = render(iec(intelligentRoutingSpec={"enabled": False}), V32)
    assert {each["metadata"]["namespace"] for each in objects} == {"default"}
    assert "LMCACHE_CONTROLLER_PULL_URL" not in env_names(objects)


def test_another_version_is_another_template() -> None:
    for images in (Images(), Images(side="python")):
        one, two = (
            of_kind(render(iec(), Options(version, images=images)), "Deployment", "qwen")["spec"]["template"]
            for version in ("3.2", "3.3")
        )
        assert one != two


def test_side_images_run_a_relay_to_the_worker() -> None:
    proxy = container(render(iec(), Options(images=Images(side="python"))), "sidecar-reverse-proxy")
    assert proxy["image"] == "python"
    assert proxy["command"][-2:] == ["8081", "8000"]


@contextmanager
def running(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    """The command by this Python, for as long as the block lasts."""
    process = subprocess.Popen([sys.executable, *command[1:]])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_the_relay_hands_a_request_on_and_ends_when_told() -> None:
    listening, target = free_ports(2)
    with (
        socket.create_server(("127.0.0.1", target)) as server,
        running("python", "-c", RELAY, str(listening), str(target)) as relay,
    ):
        while True:
            try:
                near = socket.create_connection(("127.0.0.1", listening))
                break
            except ConnectionRefusedError:
                time.sleep(0.05)
        far, _ = server.accept()
        with near, far:
            near.sendall(b"ask")
            assert far.recv(16) == b"ask"
            far.sendall(b"answer")
            assert near.recv(16) == b"answer"
        relay.terminate()
        assert relay.wait() == 0


def test_a_sleeper_ends_when_told() -> None:
    """With the signal blocked beforehand, it cannot come too early."""
    blocked = "import os, signal as s, sys; s.pthread_sigmask(s.SIG_BLOCK, {s.SIGTERM}); os.execv(sys.executable, sys.argv[1:])"
    with running("python", "-c", blocked, *SLEEP) as sleeper:
        while b"execv" in (line := Path(f"/proc/{sleeper.pid}/cmdline").read_bytes()) or b"sigwait" not in line:
            time.sleep(0.05)
        sleeper.terminate()
        assert sleeper.wait() == 0


OVERRIDES: Json = {
    "worker": {
        "transfer": {"lmcache.mp.port": 6000, "x": 1}, "env": {"PYTHONHASHSEED": "7", "NEW": "1"}, "appendArgs": ["--more"],
        "mounts": [{"name": "tmp", "mountPath": "/tmp"}], "merge": {"readinessProbe": None},
    },
    "server": {"appendArgs": ["--last", "1"]},
    "router": {"args": ["--for", "<iec>.<namespace>:<port>-<workerPort>"]},
    "pod": {"volumes": [{"name": "tmp", "emptyDir": {}}], "dropVolumes": ["dshm"], "merge": {"hostNetwork": False}},
}  # fmt: skip


def test_overrides_change_what_the_machines_need() -> None:
    objects = render(iec(), Options("3.7", overrides=check(OVERRIDES)))
    changed = container(objects, "qwen")
    assert changed["args"][-1] == "--more"
    assert json.loads(changed["args"][-2])["kv_connector_extra_config"]["x"] == 1
    assert {"name": "PYTHONHASHSEED", "value": "7"} in changed["env"]
    assert Counter(each["name"] for each in changed["env"])["PYTHONHASHSEED"] == 1
    assert "readinessProbe" not in changed
    assert {each["mountPath"] for each in changed["volumeMounts"]} == {"/opt/ml/model", "/tmp"}
    assert container(objects, "lmcache-server")["args"][-2:] == ["--last", "1"]
    pod = of_kind(objects, "Deployment", "qwen")["spec"]["template"]["spec"]
    assert [each["name"] for each in pod["volumes"]] == ["model-weights", "tmp"]
    assert pod["hostNetwork"] is False
    assert container(objects, "router-container", "qwen-default-router")["args"] == ["--for", "qwen.default:8081-8000"]


def test_wrong_options_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown keys"):
        check({"wrker": {}})
    with pytest.raises(ValueError, match="unknown variants"):
        Options(variants=frozenset({"other"}))
    with pytest.raises(ValueError, match="invalid literal"):
        Options("newest")


@pytest.mark.parametrize(
    ("target", "patch", "merged"),
    [
        ({"a": 1}, {"a": None, "b": 2}, {"b": 2}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": None}}, {"a": {"c": 2}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ("text", {"a": {"b": None}}, {"a": {}}),
    ],
)
def test_merge_patch(target: object, patch: Json, merged: object) -> None:
    assert merge_patch(target, patch) == merged


def test_rendering_changes_nothing_of_the_iec() -> None:
    given = iec(kubernetes={"volumes": [{"name": "host-shm", "emptyDir": {}}]})
    before = json.dumps(given)
    for variants in [frozenset[str](), *(frozenset({each}) for each in VARIANTS)]:
        render(given, Options("3.7", variants=variants, overrides=OVERRIDES))
        render(given, Options("3.2", variants=variants, overrides=OVERRIDES))
    assert json.dumps(given) == before
