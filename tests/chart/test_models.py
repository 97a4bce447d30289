"""From the models map to objects: switches, merging, tiers, names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from chart.helm import Helm, Json, Manifests, container, environment, flag, model

OTHER: Json = {"models": {"other": {"source": {"claim": {"name": "models"}}}}}


def _of_model(manifests: Manifests, name: str) -> list[str]:
    return [
        found["metadata"]["name"]
        for found in manifests.objects
        if found["metadata"]["labels"].get("tiered-kv-cache.io/model") == name
    ]


def test_objects_of_a_model(helm: Helm) -> None:
    manifests = helm.template()
    (keeper,) = [found["metadata"]["name"] for found in manifests.of("ConfigMap")]
    assert {(found["kind"], found["metadata"]["name"]) for found in manifests.objects} == {
        ("Deployment", "demo-tiny-engine"),
        ("Deployment", "demo-tiny-router"),
        ("PodDisruptionBudget", "demo-tiny-engine"),
        ("Service", "demo-tiny"),
        ("NetworkPolicy", "demo-tiny-engine"),
        ("NetworkPolicy", "demo-tiny-router"),
        ("NetworkPolicy", "demo-verify"),
        ("ServiceAccount", "demo-engine"),
        ("ServiceAccount", "demo-router"),
        ("Role", "demo-router"),
        ("RoleBinding", "demo-router"),
        ("ServiceAccount", "demo-verify"),
        ("Role", "demo-verify"),
        ("RoleBinding", "demo-verify"),
        ("Pod", "demo-verify"),
        ("Job", "demo-storage"),
        ("NetworkPolicy", "demo-storage"),
        ("ServiceAccount", "demo-storage"),
        ("Role", "demo-storage"),
        ("RoleBinding", "demo-storage"),
        ("Deployment", "demo-keeper"),
        ("ConfigMap", keeper),
        ("NetworkPolicy", "demo-keeper"),
        ("ServiceAccount", "demo-keeper"),
        ("Role", "demo-keeper"),
        ("RoleBinding", "demo-keeper"),
        ("Job", "demo-preflight"),
        ("NetworkPolicy", "demo-preflight"),
        ("ServiceAccount", "demo-preflight"),
        ("Role", "demo-preflight"),
        ("RoleBinding", "demo-preflight"),
        ("ClusterRole", "tiered-kv-cache.demo-preflight"),
        ("ClusterRoleBinding", "tiered-kv-cache.demo-preflight"),
    }


def test_no_model_no_object(helm: Helm) -> None:
    assert helm.run().objects == []
    assert helm.template({"models": {"tiny": {"enabled": False}}}).objects == []
    assert helm.template({"defaults": {"enabled": False}}).objects == []


def test_disabled_and_nulled_models_leave_nothing(helm: Helm) -> None:
    alone = helm.template().text
    both = helm.template(OTHER)
    assert len(_of_model(both, "other")) == len(_of_model(both, "tiny")) > 0
    assert helm.template(OTHER, {"models": {"other": {"enabled": False}}}).text == alone
    assert helm.template(OTHER, {"models": {"other": None}}).text == alone


def test_an_overlay_file_can_null_a_model(helm: Helm, tmp_path: Path) -> None:
    platform, lob = tmp_path / "platform.yaml", tmp_path / "lob.yaml"
    platform.write_text(
        yaml.safe_dump(
            {
                "l2": {"volume": {"claimName": "kv"}},
                "models": {"tiny": {"source": {"claim": {"name": "m"}}}, **OTHER["models"]},
            }
        )
    )
    lob.write_text(yaml.safe_dump({"lineOfBusiness": "retail", "models": {"tiny": None}}))
    manifests = helm.template(files=(platform, lob))
    assert _of_model(manifests, "other")
    assert not _of_model(manifests, "tiny")


def test_models_inherit_and_override_leaves(helm: Helm) -> None:
    layer: Json = {
        "defaults": {"replicas": 3, "engine": {"env": {"A": "1", "B": "1"}}},
        "models": {
            "tiny": {"engine": {"env": {"B": "2", "A": None}}},
            "other": {**OTHER["models"]["other"], "replicas": 1},
        },
    }
    manifests = helm.template(layer)
    tiny, other = (manifests.get("Deployment", f"demo-{name}-engine")["spec"] for name in ("tiny", "other"))
    assert (tiny["replicas"], other["replicas"]) == (3, 1)
    seen = [
        {key: value for key, value in environment(container(each["template"], "vllm")).items() if key in "AB"}
        for each in (tiny, other)
    ]
    assert seen == [{"B": "2"}, {"A": "1", "B": "1"}]


def test_null_deletes_a_default(helm: Helm) -> None:
    manifests = helm.template({"defaults": {"resources": {"engine": {"limits": {"cpu": None}}}, "nodeSelector": None}})
    assert manifests.container("vllm")["resources"]["limits"] == {"memory": "8Gi"}
    only_here = helm.template(model(resources={"engine": {"limits": {"cpu": None}}}))
    assert only_here.container("vllm")["resources"]["limits"] == {"memory": "8Gi"}


def test_three_tiers_are_on_by_default(helm: Helm) -> None:
    manifests = helm.template()
    args = manifests.container("vllm")["args"]
    assert "--enable-prefix-caching" in args
    assert json.loads(flag(args, "--kv-transfer-config")) == {
        "kv_connector": "LMCacheMPConnector",
        "kv_role": "kv_both",
        "kv_load_failure_policy": "recompute",
        "kv_connector_extra_config": {
            "lmcache.mp.host": "tcp://127.0.0.1",
            "lmcache.mp.port": 6100,
            "lmcache.mp.heartbeat_interval": 2,
            "lmcache.mp.mq_timeout": 10,
            "lmcache.mp.mp_transfer_mode": "engine_driven",
        },
    }
    lmcache = manifests.container("lmcache")["args"]
    assert flag(lmcache, "--l1-size-gb") == "1"
    assert flag(lmcache, "--l2-prefetch-policy") == "retain"
    assert (flag(lmcache, "--host"), flag(lmcache, "--port")) == ("127.0.0.1", "6100")
    assert (flag(lmcache, "--http-host"), flag(lmcache, "--http-port")) == ("0.0.0.0", "8180")


def test_l0_off(helm: Helm) -> None:
    args = helm.template(model(cache={"l0": {"enabled": False}})).container("vllm")["args"]
    assert "--no-enable-prefix-caching" in args
    assert "--enable-prefix-caching" not in args


L2_OFF: list[Json] = [{"l2": {"enabled": False}}, model(cache={"l2": {"enabled": False}})]


@pytest.mark.parametrize("layer", L2_OFF, ids=["for all", "for the model"])
def test_l2_off(helm: Helm, layer: Json) -> None:
    manifests = helm.template(layer, {"l2": {"volume": {"claimName": ""}}})
    pod = manifests.pod()
    # What is left only looks whether the model suits LMCache; it has no volume to make a root on.
    assert [each["name"] for each in pod["spec"]["initContainers"]] == ["check-model"]
    assert "tiered-kv-cache.io/l2-root" not in pod["metadata"]["annotations"]
    assert "--l2-adapter" not in container(pod, "lmcache")["args"]
    (verify,) = manifests.of("Pod")
    assert [volume["name"] for volume in verify["spec"]["volumes"]] == ["tmp"]
    (told,) = json.loads(environment(verify["spec"]["containers"][0])["TKC_VERIFY"])["models"]
    assert (told["l2"], told["l2Parent"], told["configHash"]) == (False, "", "")


def test_cache_off_means_no_lmcache(helm: Helm) -> None:
    manifests = helm.template(model(cache={"l1": {"enabled": False}, "l2": {"enabled": False}}))
    pod = manifests.pod()
    assert [each["name"] for each in pod["spec"]["containers"]] == ["vllm"]
    assert "--kv-transfer-config" not in container(pod, "vllm")["args"]
    ports = [
        port["port"]
        for rule in manifests.get("NetworkPolicy", "demo-tiny-engine")["spec"]["ingress"]
        for port in rule["ports"]
    ]
    assert ports == [8000]


SIZES = {
    "512Mi": ("0.5", "768Mi"),
    "1Gi": ("1", "1280Mi"),
    "1.5Gi": ("1.5", "1792Mi"),
    1000000000: ("0.931323", "1210Mi"),
}


@pytest.mark.parametrize("memory", SIZES)
def test_l1_size_reaches_flag_and_shared_memory(helm: Helm, memory: str | int) -> None:
    manifests = helm.template(model(cache={"l1": {"memory": memory}}))
    size, shm = SIZES[memory]
    assert flag(manifests.container("lmcache")["args"], "--l1-size-gb") == size
    (volume,) = [each for each in manifests.pod()["spec"]["volumes"] if each["name"] == "shm"]
    assert volume["emptyDir"] == {"medium": "Memory", "sizeLimit": shm}
    for name in ("vllm", "lmcache"):
        assert {"name": "shm", "mountPath": "/dev/shm"} in manifests.container(name)["volumeMounts"]


def test_one_hash_seed_everywhere(helm: Helm) -> None:
    manifests = helm.template(model(cache={"hashSeed": 42}))
    assert {environment(manifests.container(name))["PYTHONHASHSEED"] for name in ("vllm", "lmcache")} == {"42"}


def test_two_models_share_nothing_but_the_volume(helm: Helm) -> None:
    manifests = helm.template(OTHER)
    roots = set()
    for name in ("tiny", "other"):
        pod = manifests.get("Deployment", f"demo-{name}-engine")["spec"]["template"]
        assert pod["metadata"]["labels"]["tiered-kv-cache.io/model"] == name
        assert container(pod, "vllm")["args"][0] == f"/models/{name}"
        roots.add(flag(container(pod, "l2-root")["args"], "--parent"))
        router = container(manifests.get("Deployment", f"demo-{name}-router")["spec"]["template"], "router")["args"]
        assert router[router.index("--selector") + 1 :] == [
            "app.kubernetes.io/component=engine",
            "app.kubernetes.io/instance=demo",
            "app.kubernetes.io/name=tiered-kv-cache",
            f"tiered-kv-cache.io/model={name}",
        ]
    assert roots == {"/mnt/kv-l2/v1/retail/tiny", "/mnt/kv-l2/v1/retail/other"}


def test_two_releases_share_no_name_and_no_selector(helm: Helm) -> None:
    first, second = (helm.template(release=name) for name in ("one", "two"))
    names = [{(found["kind"], found["metadata"]["name"]) for found in each.objects} for each in (first, second)]
    assert not names[0] & names[1]
    policy = first.get("NetworkPolicy", "one-tiny-engine")["spec"]
    for rule in policy["ingress"]:
        for peer in rule["from"]:
            assert peer["podSelector"]["matchLabels"]["app.kubernetes.io/instance"] == "one"


@pytest.mark.parametrize(
    "change",
    [
        {"lineOfBusiness": "wealth"},
        model(servedName="x"),
        model(
            engine={
                "versions": {"vllm": "9", "lmcache": "9"},
                "image": {"repository": "example.com/engine", "tag": "9"},
                "acknowledge": {"unknownPair": True},
            }
        ),
        model(source={"claim": {"name": "x"}}),
    ],
)
def test_selectors_survive_upgrades(helm: Helm, change: Json) -> None:
    def selectors(manifests: Manifests) -> list[Json]:
        return [found["spec"]["selector"] for found in (*manifests.of("Deployment"), *manifests.of("Service"))]

    assert selectors(helm.template(change)) == selectors(helm.template())


def test_engine_ports_are_open_to_router_and_verify_only(helm: Helm) -> None:
    spec = helm.template().get("NetworkPolicy", "demo-tiny-engine")["spec"]
    seen = {
        rule["ports"][0]["port"]: [
            peer["podSelector"]["matchLabels"]["app.kubernetes.io/component"] for peer in rule["from"]
        ]
        for rule in spec["ingress"]
    }
    assert seen == {8000: ["router", "verify"], 8180: ["verify"]}


def test_static_volume_of_a_shared_directory(helm: Helm) -> None:
    manifests = helm.template(
        {"l2": {"volume": {"type": "hostPath", "claimName": "", "hostPath": {"path": "/srv/kv"}, "size": "8Gi"}}},
        namespace="ns",
    )
    (volume,) = manifests.of("PersistentVolume")
    (claim,) = manifests.of("PersistentVolumeClaim")
    assert volume["metadata"]["name"] == "ns.demo-l2"
    assert volume["spec"] == {
        "accessModes": ["ReadWriteMany"],
        "capacity": {"storage": "8Gi"},
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": "",
        "volumeMode": "Filesystem",
        "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "ns", "name": "demo-l2"},
        "hostPath": {"path": "/srv/kv", "type": "Directory"},
    }
    assert claim["spec"]["volumeName"] == "ns.demo-l2"
    assert claim["spec"]["storageClassName"] == ""
    (mounted,) = [each for each in manifests.pod()["spec"]["volumes"] if each["name"] == "l2"]
    assert mounted["persistentVolumeClaim"]["claimName"] == "demo-l2"


def test_verify_is_a_test_pod_with_the_least_rights(helm: Helm) -> None:
    manifests = helm.template(OTHER)
    pod = manifests.get("Pod", "demo-verify")
    assert pod["metadata"]["annotations"] == {
        "helm.sh/hook": "test",
        "helm.sh/hook-delete-policy": "before-hook-creation",
    }
    (verify,) = pod["spec"]["containers"]
    assert verify["args"] == [
        "verify",
        "--namespace",
        "tiered-kv-cache",
        "--release",
        "demo",
        "--json-file",
        "/dev/termination-log",
    ]
    assert {"name": "l2", "mountPath": "/mnt/kv-l2", "readOnly": True} in verify["volumeMounts"]
    told = json.loads(environment(verify)["TKC_VERIFY"])
    assert [each["name"] for each in told["models"]] == ["other", "tiny"]
    assert {key: value for key, value in told.items() if key != "models"} == {
        "promptTokens": 1900,
        "deadlineSeconds": 600,
        "resetL0": "auto",
        "minSpeedup": 0,
        "apiKeySecret": "",
    }
    rules = manifests.get("Role", "demo-verify")["rules"]
    writes = [rule for rule in rules if set(rule["verbs"]) - {"get", "list"}]
    assert writes == [{"apiGroups": [""], "resources": ["pods"], "resourceNames": ["demo-verify"], "verbs": ["patch"]}]
    assert {resource for rule in rules for resource in rule["resources"]} == {
        "pods",
        "pods/log",
        "persistentvolumeclaims",
        "events",
        "serviceaccounts",
    }
    assert manifests.get("Role", "demo-router")["rules"] == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}
    ]


def test_digest_wins_over_tag(helm: Helm) -> None:
    digest = "sha256:" + "0" * 64
    image = helm.template(model(engine={"image": {"digest": digest}})).container("vllm")["image"]
    assert image == f"localhost/tiered-kv-cache/engine-cpu@{digest}"


def test_pull_secrets_reach_every_pod(helm: Helm) -> None:
    manifests = helm.template({"imagePullSecrets": [{"name": "regcred"}]})
    pods = [manifests.pod(), manifests.pod("router"), manifests.get("Pod", "demo-verify")]
    assert [pod["spec"]["imagePullSecrets"] for pod in pods] == [[{"name": "regcred"}]] * 3


def test_tolerations_reach_every_pod(helm: Helm) -> None:
    wanted = [{"key": "dedicated", "operator": "Exists"}]
    manifests = helm.template({"defaults": {"tolerations": wanted}})
    pods = [manifests.pod(), manifests.pod("router"), manifests.get("Pod", "demo-verify")]
    assert [pod["spec"]["tolerations"] for pod in pods] == [wanted] * 3


def test_requests_end_before_the_kill(helm: Helm) -> None:
    pod = helm.template(model(terminationGracePeriodSeconds=300)).pod()
    vllm = container(pod, "vllm")
    assert vllm["lifecycle"]["preStop"]["exec"]["command"] == ["sh", "-c", "touch /dev/shm/engine-ends; sleep 10"]
    assert flag(vllm["args"], "--shutdown-timeout") == "285"
    assert pod["spec"]["terminationGracePeriodSeconds"] == 300


def test_upgrade_needs_no_spare_pod(helm: Helm) -> None:
    deployment = helm.template().get("Deployment", "demo-tiny-engine")
    assert deployment["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}
    (spread,) = deployment["spec"]["template"]["spec"]["topologySpreadConstraints"]
    assert (spread["topologyKey"], spread["maxSkew"], spread["whenUnsatisfiable"]) == (
        "kubernetes.io/hostname",
        1,
        "ScheduleAnyway",
    )
