"""The pool behind l2.volume.type curvine: one copy of its addresses, what its parts may do, and which values are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chart.apiserver import serve
from chart.cases import POOL_VOLUME
from chart.helm import Helm, Json, Manifests, environment
from chart.pools import container, pods, pool, privileges, settings, spec

MASTER, WORKER, CLIENT = "demo-curvine-master", "demo-curvine-worker", "demo-curvine-client"
HOST = "demo-curvine-master-{}.demo-curvine-master.{}.svc"


def all_settings(manifests: Manifests) -> dict[str, dict[str, Any]]:
    parts = {"master": ("StatefulSet", MASTER), "worker": ("DaemonSet", WORKER), "client": ("DaemonSet", CLIENT)}
    return {part: settings(manifests, spec(manifests, *where)) for part, where in parts.items()}


@pytest.mark.parametrize("replicas", [1, 3])
def test_all_parts_have_the_same_masters(helm: Helm, replicas: int) -> None:
    manifests = helm.template(pool(masters={"replicas": replicas}))
    found = all_settings(manifests)
    namespace = manifests.get("StatefulSet", MASTER)["metadata"]["namespace"]
    hosts = [HOST.format(n, namespace) for n in range(replicas)]
    for part in found.values():
        assert part["cluster_id"] == f"{namespace}.demo"
        # Either would wipe the pool.
        assert (part["format_master"], part["format_worker"]) == (False, False)
        assert part["client"]["master_addrs"] == [{"hostname": host, "port": 8995} for host in hosts]
        # A worker without the short time-outs gives EIO for 45 s after a lost leader.
        assert part["client"]["rpc_timeout_ms"] == 5000
    peers = found["master"]["journal"]["journal_addrs"]
    assert peers == [{"id": n + 1, "hostname": host, "port": 8996} for n, host in enumerate(hosts)]
    stateful = manifests.get("StatefulSet", MASTER)["spec"]
    assert (stateful["replicas"], stateful["serviceName"], stateful["podManagementPolicy"]) == (
        replicas,
        MASTER,
        "Parallel",
    )
    master = container(spec(manifests, "StatefulSet", MASTER), "master")
    assert environment(master)["CURVINE_MASTER_HOSTNAME"] == f"$(POD_NAME).{MASTER}.{namespace}.svc"
    budgets = [each["metadata"]["name"] for each in manifests.of("PodDisruptionBudget")]
    assert (MASTER in budgets) == (replicas > 1)


def test_metadata_lies_in_subdirectories_and_outlives_an_uninstall(helm: Helm) -> None:
    manifests = helm.template(pool(masters={"storage": {"storageClass": "gp3", "size": "30Gi"}}))
    found = all_settings(manifests)["master"]
    assert (found["master"]["meta_dir"], found["journal"]["journal_dir"]) == ("/data/meta", "/data/journal")
    stateful = manifests.get("StatefulSet", MASTER)["spec"]
    assert stateful["persistentVolumeClaimRetentionPolicy"] == {"whenDeleted": "Retain", "whenScaled": "Retain"}
    (claim,) = stateful["volumeClaimTemplates"]
    assert claim["spec"]["storageClassName"] == "gp3"
    assert claim["spec"]["resources"]["requests"]["storage"] == "30Gi"
    # A class that is not given is the cluster's default; "" would be none at all.
    other = helm.template(pool()).get("StatefulSet", MASTER)["spec"]["volumeClaimTemplates"][0]
    assert "storageClassName" not in other["spec"]


def test_a_worker_takes_what_it_is_given(helm: Helm) -> None:
    manifests = helm.template(pool(workers={"disk": {"path": "/mnt/nvme", "size": "100Gi", "reserve": "5Gi"}}))
    assert all_settings(manifests)["worker"]["worker"]["data_dir"] == [f"[SSD:{100 << 30}B]/data/kv"]
    pod = spec(manifests, "DaemonSet", WORKER)
    (volume,) = [v for v in pod["volumes"] if v["name"] == "data"]
    assert volume["hostPath"] == {"path": "/mnt/nvme", "type": "Directory"}
    (init,) = pod["initContainers"]
    arguments = init["args"]
    for flag, value in {"--size": str(100 << 30), "--reserve": str(5 << 30), "--host-path": "/mnt/nvme"}.items():
        assert arguments[arguments.index(flag) + 1] == value
    assert "--allow-root-disk" not in arguments


def test_addresses_of_nodes_where_writes_shall_stay_local(helm: Helm) -> None:
    for own, field in ((False, "status.podIP"), (True, "status.hostIP")):
        manifests = helm.template(pool(workers={"disk": {"path": "/mnt/nvme", "size": "100Gi"}, "hostNetwork": own}))
        worker, client = spec(manifests, "DaemonSet", WORKER), spec(manifests, "DaemonSet", CLIENT)
        assert worker.get("hostNetwork", False) is own
        for pod, name, variable in (
            (worker, "worker", "CURVINE_WORKER_HOSTNAME"),
            (client, "mount", "CURVINE_CLIENT_HOSTNAME"),
        ):
            (env,) = [e for e in container(pod, name)["env"] if e["name"] == variable]
            assert env["valueFrom"]["fieldRef"]["fieldPath"] == field


def test_only_the_mount_is_privileged(helm: Helm) -> None:
    privileged, root = privileges(helm.template(pool(masters={"replicas": 3})))
    assert privileged == ["mount"]
    assert root == [("disk", ["CHOWN", "DAC_OVERRIDE", "FOWNER"])]


def test_a_new_mount_reaches_pods_that_run(helm: Helm) -> None:
    manifests = helm.template(pool())
    namespace = manifests.get("StatefulSet", MASTER)["metadata"]["namespace"]
    directory = f"/var/lib/tiered-kv-cache/{namespace}.demo"
    client = spec(manifests, "DaemonSet", CLIENT)
    (volume,) = [v for v in client["volumes"] if v["name"] == "pool"]
    assert volume["hostPath"]["path"] == directory
    (made,) = manifests.of("PersistentVolume")
    # Each line of business gets its own part only.
    assert made["spec"]["hostPath"] == {"path": f"{directory}/retail", "type": "Directory"}
    mounts = {
        (pod, one["name"]): mount
        for pod, found in pods(manifests).items()
        for one in [*found.get("initContainers", []), *found["containers"]]
        for mount in one.get("volumeMounts", [])
        if mount["name"] == "l2"
    }
    assert {pod for pod, _ in mounts} >= {"demo-keeper", "demo-tiny-engine", "demo-verify"}
    for where, mount in mounts.items():
        assert mount["mountPropagation"] == "HostToContainer", where
    # Below the mount point: without the pool nobody can write there.
    root = next(one for one in pods(manifests)["demo-tiny-engine"]["initContainers"] if one["name"] == "l2-root")
    assert root["args"][root["args"].index("--parent") + 1] == "/mnt/kv-l2/fs/v1/retail/tiny"
    assert root["args"][root["args"].index("--pool-wait") + 1] == "60"
    (keeper,) = [m for m in manifests.of("ConfigMap") if m["metadata"]["name"].startswith("demo-keeper-")]
    told = json.loads(keeper["data"]["config.json"])
    assert told["mount"] == "/mnt/kv-l2/fs"
    assert told["pool"]["urls"] == [f"http://{HOST.format(0, namespace)}:9000/metrics"]


def test_the_mount_knows_the_engines_user_by_its_number(helm: Helm) -> None:
    manifests = helm.template(pool())
    pod = spec(manifests, "DaemonSet", CLIENT)
    (files,) = [v["configMap"]["name"] for v in pod["volumes"] if v["name"] == "scripts"]
    data = manifests.get("ConfigMap", files)["data"]
    mounted = {m["mountPath"]: m["subPath"] for m in container(pod, "mount")["volumeMounts"] if "subPath" in m}
    assert mounted == {"/etc/passwd": "passwd", "/etc/group": "group"}
    engine = pods(manifests)["demo-tiny-engine"]["securityContext"]
    users = [line.split(":") for line in data["passwd"].splitlines()]
    assert [str(engine["runAsUser"]), "x", str(engine["runAsUser"])] in [user[:3] for user in users]
    assert f"{engine['runAsGroup']}:x:{engine['runAsGroup']}:" in data["group"].splitlines()


def test_a_platform_release_and_one_that_joins_it(helm: Helm) -> None:
    platform = helm.template(
        {**pool(linesOfBusiness=["retail", "cards"]), "lineOfBusiness": "", "models": {"tiny": None}}
    )
    client = container(spec(platform, "DaemonSet", CLIENT), "mount")
    assert environment(client)["POOL_LINES"] == "cards retail"
    assert not platform.of("PersistentVolumeClaim")
    joined = helm.template(
        {**pool(pool={"release": "kv", "namespace": "platform", "masters": 3}), "lineOfBusiness": "cards"}
    )
    assert not joined.of("DaemonSet")
    assert not joined.of("StatefulSet")
    (made,) = joined.of("PersistentVolume")
    assert made["spec"]["hostPath"]["path"] == "/var/lib/tiered-kv-cache/platform.kv/cards"
    (keeper,) = [m for m in joined.of("ConfigMap") if m["metadata"]["name"].startswith("demo-keeper-")]
    urls = json.loads(keeper["data"]["config.json"])["pool"]["urls"]
    assert urls == [f"http://kv-curvine-master-{n}.kv-curvine-master.platform.svc:9000/metrics" for n in range(3)]


def test_a_change_for_one_component_restarts_only_that_one(helm: Helm) -> None:
    def names(values: Json) -> dict[str, str]:
        manifests = helm.template(values)
        found = {"master": ("StatefulSet", MASTER), "worker": ("DaemonSet", WORKER), "client": ("DaemonSet", CLIENT)}
        return {part: json.dumps(spec(manifests, *where), sort_keys=True) for part, where in found.items()}

    before = names(pool())
    for table, part in (("master", "master"), ("journal", "master"), ("worker", "worker"), ("fuse", "client")):
        after = names(pool(config={table: {"io_threads": 7}}))
        assert {name for name in before if before[name] != after[name]} == {part}


def test_numbers_stay_whole_however_large(helm: Helm) -> None:
    """Curvine takes no 1e+07 where it wants an integer."""
    manifests = helm.template(pool(config={"client": {"conn_timeout_ms": 10000000}, "worker": {"weight": 123456789}}))
    for part in all_settings(manifests).values():
        found = part["client"]["conn_timeout_ms"]
        assert (found, type(found)) == (10000000, int)
    assert repr(all_settings(manifests)["worker"]["worker"]["weight"]) == "123456789"


def test_two_pools_in_one_cluster_share_nothing(helm: Helm) -> None:
    def owned(release: str) -> set[tuple[str, str]]:
        return {(o["kind"], o["metadata"]["name"]) for o in helm.template(pool(), release=release).objects}

    assert not owned("one") & owned("two")


def test_servers_admit_only_the_pool(helm: Helm) -> None:
    manifests = helm.template(pool())
    rules = {p["metadata"]["name"]: p["spec"]["ingress"] for p in manifests.of("NetworkPolicy")}

    def components(name: str, port: int) -> set[str]:
        return {
            peer["podSelector"]["matchLabels"]["app.kubernetes.io/component"]
            for rule in rules[name]
            if port in [p["port"] for p in rule["ports"]]
            for peer in rule["from"]
        }

    assert components(MASTER, 8995) == {"curvine-masters", "curvine-workers", "curvine-client"}
    assert components(MASTER, 8996) == {"curvine-masters"}
    assert components(MASTER, 9000) == {"keeper"}
    assert components(WORKER, 8997) == {"curvine-workers", "curvine-client"}
    assert components(WORKER, 9001) == set()
    assert rules[CLIENT] == []


REFUSED: dict[str, tuple[Json, list[str]]] = {
    "no disk": (
        {"l2": {"volume": POOL_VOLUME}},
        ['curvine.workers.disk.path: ""', "/opt/dlami/nvme", 'curvine.workers.disk.size: ""', "take the whole disk"],
    ),
    "a disk around the mounts": (
        pool(workers={"disk": {"path": "/var/lib", "size": "100Gi"}}),
        ['curvine.workers.disk.path: "/var/lib"', "inside its own disk"],
    ),
    "a disk of a few blocks": (
        pool(workers={"disk": {"path": "/mnt/nvme", "size": "100Mi"}}),
        ['curvine.workers.disk.size: "100Mi"', "at least four blocks"],
    ),
    "blocks that break every write": (
        pool(blockSize="512Ki"),
        ['curvine.blockSize: "512Ki"', "below 1Mi, with which every write fails"],
    ),
    "an unknown setting": (
        pool(config={"fuse": {"entry_timeout": 1}}),
        ["curvine.config.fuse.entry_timeout: 1", "no such setting in [fuse]"],
    ),
    "a computed setting": (
        pool(config={"client": {"block_size": "1MB"}, "journal": {"journal_addrs": "x"}}),
        [
            "curvine.config.client.block_size",
            "set curvine.blockSize",
            "curvine.config.journal.journal_addrs",
            "set curvine.masters.replicas",
        ],
    ),
    "settings that break the tier": (
        pool(
            config={
                "client": {"ttl_ms": "1h", "short_circuit": True},
                "fuse": {"check_permission": False},
                "master": {"enable_quota_eviction": True},
            }
        ),
        [
            "config.client.ttl_ms",
            "config.client.short_circuit",
            "config.fuse.check_permission",
            "config.master.enable_quota_eviction",
            "4 faults",
        ],
    ),
    "nobody has a part": (
        {**pool(), "lineOfBusiness": "", "models": {"tiny": None}},
        ["curvine.linesOfBusiness: []", "nobody has a part of the pool"],
    ),
    "a part of another release's pool given away": (
        pool(pool={"release": "kv"}, linesOfBusiness=["cards"]),
        ['curvine.linesOfBusiness: ["cards"]', "in the values of that release"],
    ),
    "a claim beside the pool": (
        {**pool(), "l2": {"volume": {**POOL_VOLUME, "claimName": "other"}}},
        ['l2.volume.claimName: "other"', "would be ignored"],
    ),
    "a class that cannot exist": (
        pool(masters={"storage": {"storageClass": "GP3"}}),
        ['curvine.masters.storage.storageClass: "GP3"', "kubectl get storageclass"],
    ),
    "a model called like the masters": (
        {**pool(), "models": {"tiny": None, "curvine-master": {"source": {"claim": {"name": "models"}}}}},
        ["models.curvine-master", "call the model something else"],
    ),
    "placement that cannot be": (
        pool(client={"nodeSelector": {"disk": "a b"}, "tolerations": [{"key": "gpu", "operator": "Exists", "value": "x"}]}),
        ["curvine.client.nodeSelector", "curvine.client.tolerations"],
    ),
    "a name without room": ({**pool(), "nameOverride": "a" * 40}, ["nameOverride", "room for 36"]),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused(helm: Helm, case: str) -> None:
    values, wanted = REFUSED[case]
    message = helm.refusal(values)
    assert not [text for text in wanted if text not in message], message


def test_harmless_values_of_those_settings_pass(helm: Helm) -> None:
    values = pool(
        config={"client": {"short_circuit": False}, "fuse": {"check_permission": True, "enable_splice": False}}
    )
    fuse = all_settings(helm.template(values))["client"]["fuse"]
    assert (fuse["check_permission"], fuse["enable_splice"]) == (True, False)


def test_a_group_of_another_size_and_a_namespace_without_privileges_are_refused_first(helm: Helm) -> None:
    there: dict[str, Json] = {
        "serviceaccounts/tiered-kv-cache/default": {},
        "statefulsets/tiered-kv-cache/demo-curvine-master": {"spec": {"replicas": 1}},
        "namespaces//tiered-kv-cache": {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "baseline"}}},
        "persistentvolumeclaims/tiered-kv-cache/models": {"spec": {"accessModes": ["ReadOnlyMany"]}},
    }
    with serve(there) as url:
        options = ("--dry-run=server", "--kube-apiserver", url, "--disable-openapi-validation")
        message = helm.refusal(pool(masters={"replicas": 3}), extra=options)
        joined = helm.template(pool(pool={"release": "kv"}), extra=options)
    assert "2 faults" in message
    assert "curvine.masters.replicas: 3" in message
    assert "has 1: the size of a group is settled" in message
    assert "admits no privileged Pods (pod-security.kubernetes.io/enforce: baseline)" in message
    assert not joined.of("StatefulSet")


@pytest.mark.parametrize(("running", "wanted", "refused"), [
    ("registry.test:5000/curvine:v0.5.0", "v0.4.1", True), ("curvine:v0.4.10", "v0.4.9", True),
    ("curvine:v0.4.1", "v0.4.1-rc1", True), ("curvine:v0.4.1", "v0.4.1", False), ("curvine:v0.4.1", "v0.10.0", False),
    ("curvine:latest", "v0.4.1", False), ("curvine@sha256:" + "0" * 64, "v0.4.1", False),
])  # fmt: skip
def test_no_way_back_to_an_older_curvine(helm: Helm, running: str, wanted: str, refused: bool) -> None:
    containers = [{"name": "master", "image": running}]
    there: dict[str, Json] = {
        "serviceaccounts/tiered-kv-cache/default": {},
        "persistentvolumeclaims/tiered-kv-cache/models": {"spec": {"accessModes": ["ReadOnlyMany"]}},
        "statefulsets/tiered-kv-cache/demo-curvine-master": {
            "metadata": {
                "labels": {"app.kubernetes.io/managed-by": "Helm"},
                "annotations": {
                    "meta.helm.sh/release-name": "demo",
                    "meta.helm.sh/release-namespace": "tiered-kv-cache",
                },
            },
            "spec": {"replicas": 1, "template": {"spec": {"containers": containers}}},
        },
    }
    values = pool(image={"tag": wanted})
    with serve(there) as url:
        options = ("--dry-run=server", "--kube-apiserver", url, "--disable-openapi-validation")
        if not refused:
            helm.template(values, extra=options)
            return
        message = helm.refusal(values, extra=options)
    assert f'curvine.image.tag: "{wanted}"' in message
    assert f"demo-curvine-master runs {running.rpartition(':')[2]}" in message


def test_the_keeper_waits_for_the_mount(helm: Helm) -> None:
    for values, waits in ((pool(), True), ({}, False)):
        (keeper,) = [
            each for each in helm.template(values).of("Deployment") if each["metadata"]["name"].endswith("-keeper")
        ]
        assert ("--pool-wait" in keeper["spec"]["template"]["spec"]["containers"][0]["args"]) == waits
