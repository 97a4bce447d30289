"""The pool by claims of Curvine's CSI driver: what a claim is made with, who may do what, and what is refused."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest

from chart.apiserver import serve
from chart.helm import Helm, Json, Manifests, environment, without_preflight
from chart.pools import container, pods, pool, privileges, settings, spec

NODE, CONTROLLER = "demo-curvine-csi-node", "demo-curvine-csi-controller"
JOIN = {"pool": {"release": "kv", "namespace": "platform", "masters": 3}, "client": {"mode": "csi"}}
DRY_RUN = ("--dry-run=server", "--disable-openapi-validation", "--kube-apiserver")

# What curvine-fuse of v0.4.1 lists as its flags; of v0.4.1's driver master-addrs, fs-path and path-type are the own ones.
ACCEPTED = set(
    "master-addrs fs-path path-type attr-timeout-ms entry-timeout-ms negative-timeout-ms cache-readdir check-permission clone-fd "
    "congestion-threshold direct-io enable-meta-cache meta-cache-ttl fuse-channel-size stream-channel-size io-threads worker-threads "
    "list-limit max-background metrics-enabled mnt-number node-cache-timeout non-seekable options read-dir-fill-ino remember "
    "tasks-per-mnt web-port write-back-cache".split()
) | {
    f"client.{name}"
    for name in (
        "audit-logging-enabled auto-cache-enabled auto-cache-ttl block-conn-idle-size block-conn-idle-time block-size "
        "clean-task-interval close-timeout-secs conn-retry-max-duration-ms conn-retry-max-sleep-ms conn-retry-min-sleep-ms "
        "conn-timeout-ms data-timeout-ms drop-cache-len enable-block-conn-pool enable-read-ahead enable-rust-read-ufs "
        "enable-smart-prefetch enable-unified-fs failed-worker-ttl hostname io-threads large-file-size master-conn-pool-size "
        "max-cache-block-handles max-read-parallel max-sync-wait-timeout metric-report-enable mount-update-ttl read-ahead-len "
        "read-chunk-num read-chunk-size read-parallel read-slice-size replicas rpc-close-idle rpc-retry-max-duration-ms "
        "rpc-retry-max-sleep-ms rpc-retry-min-sleep-ms rpc-timeout-ms sequential-read-threshold short-circuit small-file-size "
        "storage-type sync-check-interval-max sync-check-interval-min sync-check-log-tick ttl-action ttl-ms umask worker-threads "
        "write-chunk-num write-chunk-size"
    ).split()
}  # fmt: skip


def _each(value: Any, names: str) -> Json:
    return dict.fromkeys(names.split(), value)


# One value of its kind for each setting that can be given and is a parameter.
GIVEN: dict[str, Json] = {
    "client": {
        **_each(
            True,
            "audit_logging_enabled enable_block_conn_pool enable_read_ahead enable_smart_prefetch metric_report_enable rpc_close_idle",
        ),
        **_each(
            7,
            "block_conn_idle_size block_conn_idle_time clean_task_interval close_timeout_secs conn_retry_max_sleep_ms "
            "conn_retry_min_sleep_ms failed_worker_ttl io_threads master_conn_pool_size max_cache_block_handles max_read_parallel "
            "read_chunk_num read_parallel rpc_retry_max_sleep_ms rpc_retry_min_sleep_ms sequential_read_threshold worker_threads "
            "write_chunk_num",
        ),
        **_each(
            "1MB",
            "drop_cache_len large_file_size read_ahead_len read_chunk_size read_slice_size small_file_size write_chunk_size",
        ),
    },
    "fuse": {
        **_each(True, "cache_readdir clone_fd metrics_enabled read_dir_fill_ino remember"),
        **_each(
            7,
            "congestion_threshold fuse_channel_size io_threads list_limit max_background mnt_number stream_channel_size "
            "tasks_per_mnt worker_threads",
        ),
        "node_cache_timeout": "1h",
    },
}


def csi(**curvine: Any) -> Json:
    client = curvine.pop("client", {})
    return pool(client={"mode": "csi", **client}, **curvine)


def parameters(manifests: Manifests) -> dict[str, str]:
    (made,) = manifests.of("StorageClass")
    found: dict[str, str] = made["parameters"]
    return found


def claim(manifests: Manifests) -> Json:
    (found,) = [c for c in manifests.of("PersistentVolumeClaim") if c["metadata"]["name"].startswith("demo-l2")]
    return found


def test_parameters_are_the_settings_of_the_mounts(helm: Helm) -> None:
    """Each setting of the tables is a parameter with the same value, or else one that the driver does not take."""
    config = {
        "fuse": {"direct_io": True, "enable_splice": False},
        "client": {"storage_type": "ssd", "conn_timeout_ms": 10000000},
    }
    manifests = helm.template(csi(config=config, masters={"replicas": 3}, blockSize="128Mi"))
    found = parameters(manifests)
    assert found.keys() <= ACCEPTED
    assert all(isinstance(value, str) for value in found.values())
    toml = tomllib.loads(manifests.get("ConfigMap", NODE)["data"]["curvine-cluster.toml"])
    hosts = toml["client"].pop("master_addrs")
    assert found["master-addrs"] == ",".join(f"{host['hostname']}:{host['port']}" for host in hosts)
    assert len(hosts) == 3
    for table, prefix in (("client", "client."), ("fuse", "")):
        for name, value in toml[table].items():
            key = prefix + name.replace("_", "-")
            assert found.get(key, "") == (
                ("true" if value is True else "false" if value is False else str(value)) if key in ACCEPTED else ""
            ), key
    assert found["client.conn-timeout-ms"] == "10000000"
    assert found["direct-io"] == "true"
    # These reach the mounts by the node plugin's file.
    assert toml["fuse"]["enable_splice"] is False
    assert toml["client"]["pipeline_timeout_ms"] == 10000
    assert found["path-type"] == "DirectoryOrCreate"


def test_every_setting_that_the_driver_takes_becomes_a_parameter(helm: Helm) -> None:
    found = parameters(helm.template(csi(config=GIVEN)))
    wanted = {
        ("client." if table == "client" else "") + name.replace("_", "-") for table in GIVEN for name in GIVEN[table]
    }
    assert wanted <= found.keys()


def test_the_claim_is_shared_and_outlives_an_uninstall(helm: Helm) -> None:
    manifests = helm.template(csi())
    made = claim(manifests)
    name, namespace = made["metadata"]["name"], made["metadata"]["namespace"]
    (storage,) = manifests.of("StorageClass")
    assert made["spec"]["accessModes"] == ["ReadWriteMany"]
    assert made["spec"]["storageClassName"] == storage["metadata"]["name"] == f"{namespace}.{name}"
    assert made["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
    assert (storage["provisioner"], storage["allowVolumeExpansion"]) == ("curvine", False)
    # Claims that shared a directory would share a process, which one claim's last Pod ends for all.
    assert storage["parameters"]["fs-path"] == f"/volumes/{namespace}.{name}"
    assert not manifests.of("PersistentVolume")


def test_pods_mount_the_claim_itself(helm: Helm) -> None:
    manifests = helm.template(csi())
    name = claim(manifests)["metadata"]["name"]
    for pod in ("demo-keeper", "demo-tiny-engine", "demo-verify"):
        found = pods(manifests)[pod]
        (volume,) = [v for v in found["volumes"] if v["name"] == "l2"]
        assert volume["persistentVolumeClaim"]["claimName"] == name
        mounts = [
            m
            for one in [*found.get("initContainers", []), *found["containers"]]
            for m in one["volumeMounts"]
            if m["name"] == "l2"
        ]
        assert mounts
        assert all(m["mountPath"] == "/mnt/kv-l2" and "mountPropagation" not in m for m in mounts)
    root = next(one for one in pods(manifests)["demo-tiny-engine"]["initContainers"] if one["name"] == "l2-root")
    assert root["args"][root["args"].index("--parent") + 1] == "/mnt/kv-l2/v1/retail/tiny"
    assert "--pool-wait" not in root["args"]
    (keeper,) = [m for m in manifests.of("ConfigMap") if m["metadata"]["name"].startswith("demo-keeper-")]
    told = json.loads(keeper["data"]["config.json"])
    assert told["mount"] == "/mnt/kv-l2"
    assert told["pool"]["urls"]


def test_only_what_the_claim_holds_changes_its_name(helm: Helm) -> None:
    def name(**curvine: Any) -> str:
        found: str = claim(helm.template(csi(**curvine)))["metadata"]["name"]
        return found

    before = name()
    assert (
        name(config={"fuse": {"enable_splice": False}, "master": {"conn_limit": 9}}, client={"priorityClassName": "x"})
        == before
    )
    others = [name(config={"client": {"io_threads": 9}}), name(blockSize="32Mi"), name(masters={"replicas": 3})]
    assert len({before, *others}) == 4


def test_a_release_that_joins_has_a_class_and_a_claim_and_no_driver(helm: Helm) -> None:
    joined = helm.template({**pool(**JOIN), "lineOfBusiness": "cards"})
    kinds = {each["kind"] for each in without_preflight(joined.objects)}
    assert not kinds & {"CSIDriver", "DaemonSet", "StatefulSet", "ClusterRole", "PersistentVolume"}
    masters = ",".join(f"kv-curvine-master-{n}.kv-curvine-master.platform.svc:8995" for n in range(3))
    assert parameters(joined)["master-addrs"] == masters
    assert claim(joined)["spec"]["accessModes"] == ["ReadWriteMany"]
    # A pool alone has nobody who uses it.
    platform = helm.template({**csi(), "lineOfBusiness": "", "models": {"tiny": None}})
    assert platform.of("CSIDriver")
    assert not platform.of("StorageClass")
    assert not platform.of("PersistentVolumeClaim")


def test_lines_of_business_have_directories_and_processes_of_their_own(helm: Helm) -> None:
    places = {
        parameters(helm.template(pool(**JOIN), release=release, namespace=namespace))["fs-path"]
        for release, namespace in (("demo", "retail"), ("demo", "cards"), ("other", "cards"))
    }
    assert len(places) == 3
    assert not any(one != other and other.startswith(f"{one}/") for one in places for other in places)


def test_the_node_plugin_is_replaced_by_hand_only_and_leaves_last(helm: Helm) -> None:
    manifests = helm.template(csi())
    assert manifests.get("DaemonSet", NODE)["spec"]["updateStrategy"] == {"type": "OnDelete"}
    pod = spec(manifests, "DaemonSet", NODE)
    # A sidecar ends after the driver, which waits for the Pods that use it.
    (registrar,) = pod["initContainers"]
    assert (registrar["name"], registrar["restartPolicy"]) == ("registrar", "Always")
    plugin = container(pod, "csi")
    assert plugin["lifecycle"]["preStop"]["exec"]["command"] == ["sh", "/scripts/csi_leave.sh"]
    assert pod["terminationGracePeriodSeconds"] > 300
    assert environment(plugin)["MOUNT_MODE"] == "embedded"
    socket = f"--kubelet-registration-path={_path(pod, 'socket')}/csi.sock"
    assert socket in registrar["args"]
    assert _path(pod, "kubelet") == next(m["mountPath"] for m in plugin["volumeMounts"] if m["name"] == "kubelet")
    # Before util-linux's own.
    assert environment(plugin)["PATH"].split(":")[0] == "/scripts"
    (scripts,) = [v["configMap"] for v in pod["volumes"] if v["name"] == "scripts"]
    assert (scripts["defaultMode"], {"key": "mountpoint", "path": "mountpoint"} in scripts["items"]) == (0o555, True)
    # An older Pod must find its ConfigMap after its node's restart.
    changed = spec(helm.template(csi(config={"fuse": {"enable_splice": False}})), "DaemonSet", NODE)
    assert changed["volumes"] == pod["volumes"]


def _path(pod: Json, volume: str) -> str:
    (found,) = [v["hostPath"]["path"] for v in pod["volumes"] if v["name"] == volume]
    return str(found)


def test_only_the_node_plugin_is_privileged(helm: Helm) -> None:
    privileged, root = privileges(helm.template(csi(masters={"replicas": 3})))
    assert privileged == ["csi"]
    assert sorted(root) == [("disk", ["CHOWN", "DAC_OVERRIDE", "FOWNER"]), ("registrar", []), ("watch", [])]


def test_directories_belong_to_the_engines_user(helm: Helm) -> None:
    """Who makes a directory owns it, and nobody changes that: so the controller is who the engines are."""
    manifests = helm.template(csi())
    controller = spec(manifests, "Deployment", CONTROLLER)
    engine = pods(manifests)["demo-tiny-engine"]["securityContext"]
    for pod in (controller, pods(manifests)["demo-keeper"]):
        assert (pod["securityContext"]["runAsUser"], pod["securityContext"]["runAsGroup"]) == (
            engine["runAsUser"],
            engine["runAsGroup"],
        )
    assert not any("runAsUser" in one["securityContext"] for one in controller["containers"])
    (driver,) = manifests.of("CSIDriver")
    assert driver["spec"]["fsGroupPolicy"] == "None"
    assert driver["spec"]["attachRequired"] is False
    # The mounts' process calls that user by its number as well.
    mounted = {
        m["mountPath"]: m["subPath"]
        for m in container(spec(manifests, "DaemonSet", NODE), "csi")["volumeMounts"]
        if "subPath" in m
    }
    assert mounted == {"/etc/passwd": "passwd", "/etc/group": "group"}
    assert f"{engine['runAsUser']}:x:{engine['runAsUser']}:" in manifests.get("ConfigMap", NODE)["data"]["passwd"]


def test_a_directory_takes_longer_than_the_provisioner_would_wait(helm: Helm) -> None:
    provisioner = container(spec(helm.template(csi()), "Deployment", CONTROLLER), "provisioner")
    (patience,) = [argument for argument in provisioner["args"] if argument.startswith("--timeout=")]
    assert int(patience.removeprefix("--timeout=").removesuffix("s")) > 12


def test_all_of_curvines_programs_read_the_pools_file(helm: Helm) -> None:
    manifests = helm.template(csi())
    for kind, name in (("DaemonSet", NODE), ("Deployment", CONTROLLER)):
        pod = spec(manifests, kind, name)
        assert settings(manifests, pod)["client"]["rpc_timeout_ms"] == 5000
        one = container(pod, "csi")
        # curvine-fuse looks for it from where it runs, curvine-cli by the variable.
        (mount,) = [m["mountPath"] for m in one["volumeMounts"] if m["name"] == "config"]
        assert mount == f"{one['workingDir']}/conf"
        assert environment(one)["CURVINE_CONF_FILE"] == f"{mount}/curvine-cluster.toml"


def test_rights(helm: Helm) -> None:
    manifests = helm.template(csi())
    (role,) = without_preflight(manifests.of("ClusterRole"))
    rights = {
        (rule["apiGroups"][0], resource): sorted(rule["verbs"])
        for rule in role["rules"]
        for resource in rule["resources"]
    }
    reading = ["get", "list", "watch"]
    assert rights == {
        ("", "persistentvolumes"): sorted(["create", "delete", "patch", *reading]),
        ("", "persistentvolumeclaims"): reading,
        ("storage.k8s.io", "storageclasses"): reading,
        ("storage.k8s.io", "volumeattachments"): reading,
        ("", "events"): ["create", "patch", "update"],
    }
    (binding,) = without_preflight(manifests.of("ClusterRoleBinding"))
    assert [s["name"] for s in binding["subjects"]] == [CONTROLLER]
    # The node plugin tells of its own Pod's mounts and nothing else: of no Secret, and of nothing outside its namespace.
    assert manifests.get("Role", NODE)["rules"] == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["patch"]},
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]},
    ]
    daemonset = helm.template(pool())
    assert not {each["kind"] for each in without_preflight(daemonset.objects)} & {
        "ClusterRole",
        "ClusterRoleBinding",
        "CSIDriver",
        "StorageClass",
    }


def test_the_driver_alone_has_a_name_that_two_releases_share(helm: Helm) -> None:
    def owned(release: str) -> set[tuple[str, str]]:
        return {(o["kind"], o["metadata"]["name"]) for o in helm.template(csi(), release=release).objects}

    assert owned("one") & owned("two") == {("CSIDriver", "curvine")}


def test_the_modes_share_no_object_that_an_upgrade_could_not_change(helm: Helm) -> None:
    def owned(values: Json) -> set[tuple[str, str]]:
        kinds = {"DaemonSet", "PersistentVolumeClaim", "PersistentVolume", "StorageClass"}
        return {(o["kind"], o["metadata"]["name"]) for o in helm.template(values).objects if o["kind"] in kinds}

    assert owned(pool()) & owned(csi()) == {("DaemonSet", "demo-curvine-worker")}


def test_servers_admit_the_driver(helm: Helm) -> None:
    rules = {p["metadata"]["name"]: p["spec"]["ingress"] for p in helm.template(csi()).of("NetworkPolicy")}

    def components(name: str, port: int) -> set[str]:
        return {
            peer["podSelector"]["matchLabels"]["app.kubernetes.io/component"]
            for rule in rules[name]
            if port in [p["port"] for p in rule["ports"]]
            for peer in rule["from"]
        }

    assert components("demo-curvine-master", 8995) == {
        "curvine-masters",
        "curvine-workers",
        "curvine-csi-node",
        "curvine-csi-controller",
    }
    assert components("demo-curvine-worker", 8997) == {"curvine-workers", "curvine-csi-node"}
    assert rules[NODE] == rules[CONTROLLER] == []
    shown = helm.template(csi(), {"networkPolicy": {"metricsFrom": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}}).get(
        "NetworkPolicy", NODE
    )
    assert [p["port"] for rule in shown["spec"]["ingress"] for p in rule["ports"]] == [9002, 9401]


REFUSED: dict[str, tuple[Json, list[str]]] = {
    "a parameter that would leave the claim Pending": (
        csi(config={"fuse": {"entry_timeout_ms": "1s"}}),
        ['curvine.config.fuse.entry_timeout_ms: "1s"', "must be digits there", "write digits"],
    ),
    "a text where the driver wants true or false": (
        csi(config={"client": {"rpc_close_idle": "yes"}}),
        ['curvine.config.client.rpc_close_idle: "yes"', "must be true or false there"],
    ),
    "a setting that no claim can have, from a release that has no file": (
        pool(**JOIN, config={"fuse": {"enable_splice": False}}),
        [
            "curvine.config.fuse.enable_splice: false",
            "takes no such parameter of a claim, and would refuse this one: enable-splice",
            "release: kv",
        ],
    ),
    "another value than the usual one of such a setting": (
        pool(**JOIN, config={"client": {"pipeline_timeout_ms": 5}}),
        ["curvine.config.client.pipeline_timeout_ms: 5", "client.pipeline-timeout-ms"],
    ),
    "a name that Curvine does not know": (
        pool(**JOIN, config={"client": {"conn_timeout": 5}}),
        ["curvine.config.client.conn_timeout: 5", "no such setting in [client]"],
    ),
    "a setting that breaks the tier": (
        pool(**JOIN, config={"client": {"ttl_ms": "1h"}}),
        ['curvine.config.client.ttl_ms: "1h"', "l2.keeper.ttl"],
    ),
    "a computed setting": (
        pool(**JOIN, config={"client": {"block_size": "1MB"}}),
        ["curvine.config.client.block_size", "set curvine.blockSize"],
    ),
    "blocks that break every write": (
        pool(**JOIN, blockSize="512Ki"),
        ['curvine.blockSize: "512Ki"', "every write fails"],
    ),
    "parts that nobody needs": (
        csi(linesOfBusiness=["cards"]),
        ['curvine.linesOfBusiness: ["cards"]', "a claim of its own"],
    ),
    "an image": (
        csi(client={"csi": {"image": {"tag": "a b"}}}),
        ['curvine.client.csi.image.tag: "a b"', "not a tag"],
    ),
    "a sidecar's image": (
        csi(client={"csi": {"registrar": {"image": {"tag": "a b"}}}}),
        ['curvine.client.csi.registrar.image.tag: "a b"', "not a tag"],
    ),
    "a sidecar's resources": (
        csi(client={"csi": {"provisioner": {"resources": {"limits": {"memory": "much"}}}}}),
        ["curvine.client.csi.provisioner.resources.limits.memory", "much"],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(helm: Helm, case: str) -> None:
    helm.assert_refused(*REFUSED[case])


def test_a_cluster_without_sidecars_is_refused(helm: Helm) -> None:
    message = helm.refusal(csi(), extra=("--kube-version", "1.28.9"))
    assert "knows no sidecars (1.29 does)" in message
    helm.template(csi(), extra=("--kube-version", "1.29.0"))
    helm.template(pool(), extra=("--kube-version", "1.28.9"))


def test_a_cluster_has_one_driver(helm: Helm) -> None:
    here = {
        "serviceaccounts/tiered-kv-cache/default": {},
        "persistentvolumeclaims/tiered-kv-cache/models": {"spec": {"accessModes": ["ReadOnlyMany"]}},
    }

    def driver(owner: str) -> dict[str, Json]:
        annotations = {"annotations": {"tiered-kv-cache.io/pool": owner}} if owner else {}
        return here | {"csidrivers//curvine": {"metadata": {"name": "curvine", **annotations}}}

    with serve(driver("infra.other")) as url:
        theirs = helm.refusal(csi(), extra=(*DRY_RUN, url))
        wrong = helm.refusal(pool(**JOIN), extra=(*DRY_RUN, url))
        helm.template(pool(pool={"release": "kv"}), extra=(*DRY_RUN, url))
    for message in (theirs, wrong):
        assert "CSIDriver curvine belongs to the pool of release other in namespace infra" in message
        assert "set curvine.client.mode: daemonset" in message
    with serve(driver("")) as url:
        assert "an installation that this chart did not make" in helm.refusal(csi(), extra=(*DRY_RUN, url))
    with serve(driver("platform.kv")) as url:
        assert helm.template(pool(**JOIN), extra=(*DRY_RUN, url)).of("StorageClass")
    with serve(here) as url:
        assert "the cluster has no CSIDriver curvine" in helm.refusal(pool(**JOIN), extra=(*DRY_RUN, url))
        assert helm.template(csi(), extra=(*DRY_RUN, url)).of("CSIDriver")
