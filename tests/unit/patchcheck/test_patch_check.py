"""The check beside the patch itself: what comes back as specified passes, and each thing that is missing is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kubernetes import client

from emulators.apiserver import JsonServer
from emulators.objects import FakeObjects, Json, denial
from emulators.times import Time
from tiered_kv_cache import __main__ as program
from tiered_kv_cache.cluster import ClusterError, KubernetesCluster
from tiered_kv_cache.findings import UsageError
from tiered_kv_cache.patch.apply import patch
from tiered_kv_cache.patch.outcome import Refused
from tiered_kv_cache.patchcheck import command
from tiered_kv_cache.patchcheck.config import Place, parse
from tiered_kv_cache.rows import FAIL, OK, WARN, Row

OWN: Json = {
    "models": ["demo-a", "demo-b"],
    "claim": "kv-l2",
    "mountPath": "/mnt/kv-l2",
    "adapter": "guarded",
    "propagation": "HostToContainer",
}
OWN["ofModels"] = {"demo-a": {"hashSeed": "0"}, "demo-b": {"hashSeed": "7"}}
OTHER: Json = {"models": ["*"], "claim": "l2", "mountPath": "/l2/", "hashSeed": 0, "adapter": ""}
ROOTED = {"demo-r": {"root": "/l2/v1/retail/r/0123456789abcdef", "image": "registry.example.com/engine:1"}}


def parameters(targets: Json) -> dict[str, str]:
    """The parameter object of the same targets."""
    data = {}
    for namespace, target in targets.items():
        data[f"{namespace}.models"] = ",".join(target["models"])
        for key in ("claim", "propagation", "hashSeed", "adapter"):
            data[f"{namespace}.{key}"] = str(target.get(key, ""))
        data[f"{namespace}.mountPath"] = target["mountPath"].rstrip("/")
        for model, its in (target.get("ofModels") or {}).items():
            data |= {f"{namespace}.{model}.{key}": str(value) for key, value in its.items()}
    return data


def namespace_of(path: str) -> str:
    return path.split("/")[4]


class Site:
    """Namespaces with the patch. `spoil` changes what comes back."""

    def __init__(self, targets: Json) -> None:
        self.api = FakeObjects()
        self.time = Time()
        self.places: tuple[Place, ...] = parse(
            json.dumps({"namespaces": targets, "resources": {"limits": {"cpu": "1"}}}), "test"
        )
        self.data = parameters(targets)
        self.spoil: Callable[[Json], object] = lambda pod: None
        self.evicted: list[str] = []
        self.api.post = self.post
        self.said: list[str] = []

    def post(self, path: str, body: Json) -> Json:
        """As the API server with the patch."""
        if body["kind"] == "Eviction":
            self.evict(path.split("/")[-2])
            return {}
        try:
            back = json.loads(json.dumps(patch(body, self.data, namespace_of(path)).pod))
        except Refused as err:
            raise denial("create pods", namespace_of(path), 422, str(err)) from err
        self.spoil(back)
        assert isinstance(back, dict)
        return back

    def evict(self, name: str) -> None:
        """The ReplicaSet makes another one, which the patch sees."""
        self.evicted.append(name)
        path = next(path for path in self.api.objects if path.endswith(f"/{name}"))
        del self.api.objects[path]
        self.pod(f"{name}-new", namespace_of(path), patched=True)

    def pod(self, name: str, namespace: str = "kv", app: str = "demo-a", patched: bool = False, **status: Any) -> None:
        """A running Pod of the operator."""
        ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]} | status
        notes = {"tiered-kv-cache.io/l2-patch": "v1"} if patched else {}
        meta = {"labels": {"app": app, "deploying-service": "hyperpod-inference"}, "annotations": notes}
        self.api.add(f"/api/v1/namespaces/{namespace}/pods/{name}", {"metadata": meta, "spec": {}, "status": ready})

    def held(self, name: str) -> None:
        """An unpatched Pod whose init container refuses to go on."""
        self.pod(name, phase="Pending", conditions=[{"type": "Initialized", "status": "False"}])
        path = f"/api/v1/namespaces/kv/pods/{name}"
        self.api.objects[path]["spec"] = {"initContainers": [{"name": "tkc-l2-root"}]}

    def rows(self, restart: bool = False, seconds: float = 600.0) -> list[Row]:
        """All rows."""
        deadline = self.time.deadline(seconds)
        return command.check(self.api, self.places, restart, (deadline, deadline.within(90.0)), self.said.append)

    def told(self, severity: str = FAIL, restart: bool = False) -> list[str]:
        """What rows of a severity say."""
        return [str(row.finding) for row in self.rows(restart) if row.severity == severity]


@pytest.fixture
def site() -> Site:
    return Site({"kv": OWN})


def test_what_the_patch_makes_is_what_is_asked_for() -> None:
    site = Site({"kv": OWN, "else": OTHER, "old": OTHER | {"ofModels": ROOTED}})
    rows = site.rows()
    assert [row for row in rows if row.severity != OK] == []
    titles = [row.check for row in rows]
    for title in (
        "kv/demo-a in-process",
        "kv/demo-a multi-process",
        "kv/demo-b in-process",
        "kv: a Pod without the operator's label",
        "kv: a Pod of a model that is not named",
        "else/tkc-patch-check in-process",
        "old/demo-r multi-process",
    ):
        assert title in titles
    assert "else: a Pod of a model that is not named" not in titles
    assert site.time.now == 0.0


def worker(pod: Json) -> Json:
    found: Json = pod["spec"]["containers"][0]
    return found


def drop(name: str) -> Callable[[Json], object]:
    def change(pod: Json) -> None:
        for each in pod["spec"]["containers"]:
            each["env"] = [entry for entry in each.get("env", []) if entry["name"] != name]

    return change


def append(name: str, value: str) -> Callable[[Json], object]:
    return lambda pod: worker(pod).setdefault("env", []).append({"name": name, "value": value})


def without_mounts(pod: Json) -> None:
    for each in pod["spec"]["containers"]:
        each.pop("volumeMounts", None)


def doubled(pod: Json) -> None:
    for each in pod["spec"]["containers"]:
        each["args"] = [*each.get("args", []), "--l2-adapter=x"] if each["name"] == "lmcache" else each.get("args", [])


def argued(text: str, other: str) -> Callable[[Json], object]:
    def change(pod: Json) -> None:
        for each in pod["spec"]["containers"]:
            each["args"] = [word.replace(text, other) for word in each.get("args", [])]

    return change


SPOILED: dict[str, tuple[Callable[[Json], object], str]] = {
    "a second URL": (
        append("LMCACHE_REMOTE_URL", "sagemaker-hyperpod://x"),
        "REMOTE_URL fs://localhost:0/run/tkc/l2/ and sage",
    ),
    "no URL": (drop("LMCACHE_REMOTE_URL"), "LMCACHE_REMOTE_URL not at all"),
    "no serde": (drop("LMCACHE_REMOTE_SERDE"), "LMCACHE_REMOTE_SERDE not at all, not naive once"),
    "no extra": (drop("LMCACHE_EXTRA_CONFIG"), "LMCACHE_EXTRA_CONFIG not at all"),
    "no POD_NAME": (drop("POD_NAME"), "does not begin its env with POD_NAME"),
    "no seed": (drop("PYTHONHASHSEED"), "PYTHONHASHSEED not at all, not 0"),
    "no annotation": (
        lambda pod: pod["metadata"].pop("annotations", None),
        "annotation tiered-kv-cache.io/l2-patch is absent",
    ),
    "no volume": (lambda pod: pod["spec"].pop("volumes", None), "volume tkc-l2 is absent, not claim kv-l2"),
    "no mounts": (without_mounts, "does not mount tkc-l2 at /mnt/kv-l2"),
    "no link": (without_mounts, "does not mount tkc-run at /run/tkc"),
    "another propagation": (
        lambda pod: [
            mount.pop("mountPropagation", None)
            for each in pod["spec"]["containers"]
            for mount in each.get("volumeMounts", [])
        ],
        "without mountPropagation HostToContainer",
    ),
    "two adapters": (doubled, "--l2-adapter 2 times"),
    "another adapter": (argued("/run/tkc/l2", "/elsewhere"), "has --l2-adapter"),
    "no prefetch policy": (argued("--l2-prefetch-policy", "--x"), "no --l2-prefetch-policy"),
    "no package": (drop("PYTHONPATH"), "PYTHONPATH not at all, not /run/tkc/code"),
    "a sidecar": (
        lambda pod: pod["spec"]["containers"][-1].update(args=["x"]),
        "container otel-collector was changed: args",
    ),
    "the worker of multi-process": (append("A", "b"), "container demo-a was changed: env"),
}


@pytest.mark.parametrize("case", SPOILED)
def test_each_fault_is_told(site: Site, case: str) -> None:
    site.spoil, says = SPOILED[case]
    told = site.told()
    assert any(says in each for each in told), told
    assert site.time.now <= 90.0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda pod: pod["metadata"].update(annotations={"tiered-kv-cache.io/l2-patch": "v1"}), "it has annotation"),
        (lambda pod: pod["spec"].update(volumes=[{"name": "tkc-l2"}]), "it has volume tkc-l2"),
        (lambda pod: worker(pod).update(env=[]), "container demo-a was changed: env"),
    ],
)
def test_a_pod_that_is_none_of_its_business(site: Site, change: Callable[[Json], object], says: str) -> None:
    site.spoil = lambda pod: change(pod) if "deploying-service" not in pod["metadata"]["labels"] else None
    assert any("without the operator's label" in each and says in each for each in site.told())


def test_no_patch_at_all(site: Site) -> None:
    site.api.post = lambda path, body: body
    told = site.told()
    assert len(told) == 4
    assert all("kubectl get mutatingadmissionpolicy" in each for each in told)


def test_a_patch_that_comes_late(site: Site) -> None:
    real = site.api.post

    def post(path: str, body: Json) -> Json:
        if site.time.now < 30:
            raise denial("create pods", "kv", 500, "failed calling webhook: connection refused")
        return real(path, body)

    site.api.post = post
    assert not site.told()
    assert 30 <= site.time.now < 40
    assert "connection refused" in site.said[0]


@pytest.mark.parametrize(
    ("status", "message", "waits", "says"),
    [
        (500, "failed calling webhook: no endpoints available", True, "no endpoints available"),
        (404, "namespaces not found", False, "kubectl create namespace kv"),
        (403, 'pods is forbidden: User "x" cannot create resource "pods"', False, "install the chart's Role"),
        (403, "exceeded quota: team, requested: pods=1", False, "raise its quota"),
        (403, 'violates PodSecurity "restricted:latest"', False, "Pod Security level"),
        (
            422,
            "ValidatingAdmissionPolicy denied request: tiered-kv-cache L2 patch: the image",
            True,
            "do what the message says",
        ),
    ],
)
def test_a_refusal_is_told_in_the_servers_words(site: Site, status: int, message: str, waits: bool, says: str) -> None:
    def post(path: str, body: Json) -> Json:
        raise denial("create pods", "kv", status, message)

    site.api.post = post
    told = site.told()
    assert all(says in each and (status == 404 or message in each) for each in told), told
    assert (site.time.now > 60) is waits


def test_pods_that_run_unpatched_are_listed_with_what_replaces_them(site: Site) -> None:
    site.pod("a-1")
    site.pod("a-2", patched=True)
    site.pod("other", app="not-named")
    site.pod("gone", phase="Failed")
    (told,) = site.told(WARN)
    assert "1 of 2 Pods of demo-a in namespace kv run without the patch: a-1" in told
    assert "kubectl -n kv delete pod a-1 && kubectl -n kv rollout status deployment/demo-a" in told
    assert not site.evicted


def test_pods_that_wait_for_the_patch_are_replaced_unasked(site: Site) -> None:
    """Made in the second before the policy was in force, as at a first install: the init container holds them."""
    for name in ("a-1", "a-2"):
        site.held(name)
    assert [row.seen for row in site.rows() if row.check == "running Pods"] == [
        "kv/demo-a: 2 replaced that were made before the patch"
    ]
    assert site.evicted == ["a-1", "a-2"]


def test_beside_pods_that_serve_they_are_left_to_the_person(site: Site) -> None:
    site.held("a-1")
    site.pod("a-2")
    assert "2 of 2 Pods of demo-a in namespace kv run without the patch" in site.told(WARN)[0]
    assert not site.evicted


def test_pods_that_wait_are_left_where_the_patch_is_not_proven(site: Site) -> None:
    site.held("a-1")
    site.spoil = drop("LMCACHE_REMOTE_URL")
    assert site.told()
    assert not site.evicted


def test_they_are_replaced_one_at_a_time(site: Site) -> None:
    for name in ("a-1", "a-2"):
        site.pod(name)
    evict = site.evict

    def one(name: str) -> None:
        pods = [path for path in site.api.objects if "/pods/" in path]
        assert len(pods) == 2, "the last one's successor is there"
        evict(name)

    site.evict = one  # type: ignore[method-assign]
    assert [row.seen for row in site.rows(restart=True) if row.check == "running Pods"] == ["kv/demo-a: 2 replaced"]
    assert site.evicted == ["a-1", "a-2"]


def test_a_successor_that_does_not_come_stops_it(site: Site) -> None:
    for name in ("a-1", "a-2"):
        site.pod(name)
    site.evict = lambda name: site.api.objects.pop(f"/api/v1/namespaces/kv/pods/{name}")  # type: ignore[method-assign,assignment]
    (told,) = site.told(restart=True)
    assert "after Pod a-1 was evicted only 1 of 2 Pods of demo-a were Ready in time" in told
    assert "kubectl -n kv delete pod a-2" in told
    assert f"{site.api.objects.keys()}".count("/pods/") == 1


def test_a_successor_that_is_not_patched_stops_it(site: Site) -> None:
    site.pod("a-1")

    def evict(name: str) -> None:
        del site.api.objects[f"/api/v1/namespaces/kv/pods/{name}"]
        site.pod("a-3")

    site.evict = evict  # type: ignore[method-assign]
    (told,) = site.told(restart=True)
    assert "Pod a-3, made in place of a-1, is not patched either" in told


def test_a_disruption_budget_is_waited_for(site: Site) -> None:
    site.pod("a-1")
    evict = site.evict

    def later(name: str) -> None:
        if site.time.now < 20:
            raise ClusterError("no", passes=True, status=429, message="would violate the pod's disruption budget")
        evict(name)

    site.evict = later  # type: ignore[method-assign]
    assert not site.told(restart=True)
    assert site.evicted == ["a-1"]


def test_nothing_is_replaced_where_the_patch_is_not_proven(site: Site) -> None:
    site.pod("a-1")
    site.spoil = drop("LMCACHE_REMOTE_URL")
    assert site.told(restart=True)
    assert not site.evicted


def test_pods_that_may_not_be_listed(site: Site) -> None:
    site.api.denied.add("list pods")
    (told,) = site.told(WARN)
    assert "may not list pods in namespace kv" in told


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "object"),
        ('{"namespaces": {"kv": {}}}', "claim, mountPath missing"),
        ('{"namespaces": {"kv": 1}}', "no object"),
    ],
)
def test_a_configuration_that_is_none(text: str, says: str) -> None:
    with pytest.raises(UsageError, match="Fix: ") as refused:
        parse(text, "x")
    assert says in str(refused.value)


class Server(JsonServer):
    """Patches over real HTTP."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def answer(self, method: str, path: str, body: Json | None) -> tuple[int, Json]:
        """See JsonServer."""
        self.asked.append(f"{method} {path}")
        if method == "POST" and body:
            return 201, dict(patch(body, parameters({"kv": OWN}), "kv").pod)
        return 200, {"items": []}


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.stop()


def test_the_command(server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = KubernetesCluster(client.CoreV1Api(client.ApiClient(client.Configuration(host=server.url))))
    monkeypatch.setattr(KubernetesCluster, "connect", lambda kubeconfig, context: cluster)
    monkeypatch.setenv("TKC_PATCH_CHECK", json.dumps({"namespaces": {"kv": OWN}}))
    assert program.main(["patch-check", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["ok"], {row["severity"] for row in told["checks"]}) == (True, {"ok"})
    assert "POST /api/v1/namespaces/kv/pods?dryRun=All" in server.asked
    assert not [each for each in server.asked if each.startswith("POST") and "dryRun=All" not in each]
    monkeypatch.setenv("TKC_PATCH_CHECK", "")
    assert program.main(["patch-check"]) == 2
    assert program.main(["patch-check", "--deadline", "0"]) == 2
