"""The end of a pool: one part after the other, nothing while others use it, and what is stuck told by Pod and node."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from kubernetes import client

from emulators.apiserver import JsonServer
from emulators.times import Time
from tiered_kv_cache.cluster import ClusterError, KubernetesCluster
from tiered_kv_cache.pool import drain as drains
from tiered_kv_cache.pool.drain import Job, Part, Result

Json = dict[str, Any]
PARTS = (
    Part("what uses the pool", "deployments", ("demo-tiny-engine", "demo-keeper"), ("engine", "keeper")),
    Part("mounts", "daemonsets", ("demo-client",), ("curvine-client",)),
    Part("workers", "daemonsets", ("demo-worker",), ("curvine-workers",)),
    Part("masters", "statefulsets", ("demo-master",), ("curvine-masters",)),
)
OWNERS = {"demo-tiny-engine": "engine", "demo-keeper": "keeper", "demo-client": "curvine-client"} | {
    "demo-worker": "curvine-workers",
    "demo-master": "curvine-masters",
}


class Cluster:
    """Controllers with a Pod each that ends ``ends`` seconds after its controller was deleted."""

    def __init__(self, time: Time) -> None:
        self.time = time
        self.ends: dict[str, float] = {}
        self.gone: dict[str, float] = {}
        self.extra: dict[str, Json] = {}
        self.told: list[str] = []
        self.all_volumes: list[Json] = []
        self.fails = 0

    def delete(self, kind: str, namespace: str, name: str) -> bool:
        """See Api."""
        self._may_fail()
        assert namespace == "kv"
        if name in self.gone:
            return False
        self.told.append(f"{kind}/{name}")
        self.gone[name] = self.time.now
        return True

    def pods(self, namespace: str, selector: str) -> list[Json]:
        """See Api."""
        self._may_fail()
        instance, _, wanted = selector.partition(",")
        assert instance == "app.kubernetes.io/instance=demo"
        components = wanted.partition(" in (")[2].rstrip(")").split(",")
        found = []
        for name, component in OWNERS.items():
            since = self.gone.get(name)
            if component in components and (since is None or self.time.now < since + self.ends.get(name, 0.0)):
                meta: Json = {"name": f"{name}-0", "namespace": "kv"}
                if since is not None:
                    until = datetime.now(UTC) + timedelta(seconds=300 - (self.time.now - since))
                    meta["deletionTimestamp"] = until.strftime("%Y-%m-%dT%H:%M:%SZ")
                meta |= self.extra.get(name, {})
                found.append({"metadata": meta, "spec": {"nodeName": "node-7"}, "status": {"phase": "Running"}})
        return found

    def volumes(self) -> list[Json]:
        """See Api."""
        self._may_fail()
        return self.all_volumes

    def _may_fail(self) -> None:
        if self.fails:
            self.fails -= 1
            raise ClusterError("the API server does not answer", passes=True)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(Time())


def run(cluster: Cluster, others: str = "", force: bool = False) -> Result:
    """Drain the release demo."""
    todo = Job("kv", "demo", PARTS, others, force)
    return drains.drain(todo, cluster, cluster.time.deadline(225.0), lambda line: None)


def test_each_part_goes_before_the_next_one(cluster: Cluster) -> None:
    cluster.ends = {"demo-tiny-engine": 60.0, "demo-client": 8.0, "demo-worker": 10.0, "demo-master": 3.0}
    result = run(cluster)
    assert result.ok
    assert result.done == [part.title for part in PARTS]
    assert cluster.told == [
        "deployments/demo-tiny-engine", "deployments/demo-keeper", "daemonsets/demo-client", "daemonsets/demo-worker",
        "statefulsets/demo-master",
    ]  # fmt: skip
    order = ["demo-tiny-engine", "demo-client", "demo-worker", "demo-master"]
    for before, after in pairwise(order):
        assert cluster.gone[after] >= cluster.gone[before] + cluster.ends[before], after
    assert cluster.time.now < 100.0


def test_again_after_it_was_cut_off(cluster: Cluster) -> None:
    run(cluster)
    told = list(cluster.told)
    assert run(cluster).done == [part.title for part in PARTS]
    assert cluster.told == told, "nothing is deleted twice"


def test_an_api_server_that_is_away_for_a_while(cluster: Cluster) -> None:
    cluster.fails = 20
    assert run(cluster).ok


def test_engines_that_still_answer_are_noted_and_the_rest_goes_on_in_time(cluster: Cluster) -> None:
    cluster.ends = {"demo-tiny-engine": 1e6}
    result = run(cluster)
    assert result.ok
    assert result.notes == ["still ends by itself, on node node-7: Pod demo-tiny-engine-0 (what uses the pool)"]
    assert result.done == ["mounts", "workers", "masters"]
    assert cluster.time.now <= 225.0


STUCK = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
IN_THE_WAY: list[tuple[str, Json, list[str]]] = [
    ("a mount that hangs", STUCK, ["does not end", "beyond its time", "node-7"]),
    ("a finalizer", STUCK | {"finalizers": ["example.com/held"]}, ["held by finalizers example.com/held"]),
    ("somebody keeps it", {"deletionTimestamp": None}, ["is not being deleted"]),
]


@pytest.mark.parametrize(("extra", "says"), [case[1:] for case in IN_THE_WAY], ids=[case[0] for case in IN_THE_WAY])
def test_what_is_stuck_is_told_and_the_later_parts_stay(cluster: Cluster, extra: Json, says: list[str]) -> None:
    cluster.ends, cluster.extra = {"demo-client": 1e6}, {"demo-client": extra}
    result = run(cluster)
    assert not result.ok
    assert result.done == ["what uses the pool"]
    (finding,) = result.findings
    for text in ("Pod demo-client-0", "node-7", *says):
        assert text in finding.what
    assert finding.fix
    assert not {"demo-worker", "demo-master"} & cluster.gone.keys()
    assert cluster.time.now <= 225.0


def test_force_goes_on(cluster: Cluster) -> None:
    cluster.ends, cluster.extra = {"demo-client": 1e6}, {"demo-client": STUCK}
    result = run(cluster, force=True)
    assert result.ok
    assert len(result.findings) == 1
    assert "demo-master" in cluster.gone
    assert result.lines()[0] == "pool-drain: forced; gone: what uses the pool, workers, masters"


def volume(namespace: str, release: str, path: str, phase: str = "Bound") -> Json:
    """A release's L2 volume."""
    return {
        "metadata": {"name": "x", "labels": {"app.kubernetes.io/instance": release}},
        "spec": {"hostPath": {"path": path}, "claimRef": {"namespace": namespace, "name": f"{release}-l2"}},
        "status": {"phase": phase},
    }


DIRECTORY = "/var/lib/tiered-kv-cache/kv.demo"


def test_other_releases_are_named_before_anything_is_deleted(cluster: Cluster) -> None:
    cluster.all_volumes = [
        volume("kv", "demo", f"{DIRECTORY}/retail"),
        volume("cards", "cards", f"{DIRECTORY}/cards"),
        volume("kv", "second", f"{DIRECTORY}/loans"),
        volume("old", "old", f"{DIRECTORY}/old", "Released"),
        volume("far", "far", f"{DIRECTORY}-2/far"),
        {"metadata": {"name": "csi"}, "spec": {"csi": {}}},
    ]
    result = run(cluster, others=DIRECTORY)
    assert not result.ok
    assert [finding.what for finding in result.findings] == [
        "release cards in namespace cards still uses this pool: claim cards-l2, part cards",
        "release second in namespace kv still uses this pool: claim second-l2, part loans",
    ]
    assert all(
        "helm rollback demo REVISION -n kv, the newest of helm history" in finding.fix for finding in result.findings
    )
    assert cluster.told == []
    assert run(cluster, others=DIRECTORY, force=True).ok
    assert len(cluster.gone) == len(OWNERS)


class Server(JsonServer):
    """Knows one DaemonSet, one volume, and refuses the rest."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def answer(self, method: str, path: str, body: Json | None) -> tuple[int, Json]:
        """See JsonServer."""
        self.asked.append(f"{method} {path}")
        if path.startswith("/api/v1/persistentvolumes"):
            return 200, {"items": [volume("a", "b", "/c")]}
        if path.partition("?")[0].endswith("/daemonsets/demo-client"):
            return 200, {}
        return (403 if "statefulsets" in path else 404), {"message": "no"}


def test_over_http() -> None:
    server = Server()
    try:
        cluster = KubernetesCluster(client.CoreV1Api(client.ApiClient(client.Configuration(host=server.url))))
        assert cluster.delete("daemonsets", "kv", "demo-client") is True
        assert cluster.delete("deployments", "kv", "demo-tiny-engine") is False
        with pytest.raises(ClusterError, match="may not delete statefulsets in namespace kv") as refused:
            cluster.delete("statefulsets", "kv", "demo-master")
        assert len(cluster.volumes()) == 1
    finally:
        server.stop()
    assert not refused.value.passes
    assert server.asked[0] == "DELETE /apis/apps/v1/namespaces/kv/daemonsets/demo-client?propagationPolicy=Background"


def test_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], cluster: Cluster) -> None:
    connect: Callable[..., Cluster] = lambda kubeconfig, context: cluster  # noqa: E731
    monkeypatch.setattr(KubernetesCluster, "connect", connect)
    monkeypatch.setattr(drains, "POLL_SECONDS", 0.01)
    from tiered_kv_cache import __main__ as program  # noqa: PLC0415

    words = "pool-drain --namespace kv --release demo --user demo-tiny-engine --user demo-keeper --client demo-client"
    words += f" --workers demo-worker --masters demo-master --others {DIRECTORY} --json"
    assert program.main(words.split()) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"ok": True, "gone": [part.title for part in PARTS], "notes": [], "findings": []}
    cluster.all_volumes = [volume("cards", "cards", f"{DIRECTORY}/cards")]
    assert program.main(words.split()) == 1
    assert len(json.loads(capsys.readouterr().out)["findings"]) == 1
