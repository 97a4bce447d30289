"""The real Kubernetes client against recorded answers of an API server."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlparse

import httpx
import pytest
from kubernetes import client
from kubernetes.config import incluster_config

from emulators.engine import Engine
from tiered_kv_cache import cluster as cluster_module
from tiered_kv_cache.cluster import Cluster, ClusterError, KubernetesCluster
from tiered_kv_cache.deadline import Deadline
from tiered_kv_cache.engine import Engine as EngineClient
from tiered_kv_cache.lmcache import LMCache
from tiered_kv_cache.pods import Pod

RECORDED = Path(__file__).parent / "recorded"


class ApiServer:
    """Answers paths from ``answers`` (status and body) and remembers what was asked."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, bytes]] = {}
        self.asked: list[tuple[str, dict[str, list[str]]]] = []
        self.patched: dict[str, object] = {}
        self.next_body: Callable[[str], bytes | None] = lambda path: None
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                url = urlparse(self.path)
                outer.asked.append((url.path, parse_qs(url.query)))
                status, body = outer.answers.get(url.path, (404, b'{"kind":"Status","reason":"NotFound"}'))
                if prepared := outer.next_body(url.path):
                    status, body = 200, prepared
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_PATCH(self) -> None:
                outer.patched = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self.do_GET()

            def log_message(self, *_: object) -> None:
                """Silent."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def cluster(self) -> KubernetesCluster:
        configuration = client.Configuration()
        configuration.host = f"http://127.0.0.1:{self.server.server_address[1]}"
        return KubernetesCluster(client.CoreV1Api(client.ApiClient(configuration)))


@pytest.fixture
def api() -> Iterator[ApiServer]:
    made = ApiServer()
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_pods(api: ApiServer) -> None:
    api.answers["/api/v1/namespaces/kv/pods"] = (200, (RECORDED / "pods.json").read_bytes())
    cluster: Cluster = api.cluster()
    pods = [Pod.parse(raw) for raw in cluster.pods("kv", "a=b,c=d")]
    assert api.asked == [("/api/v1/namespaces/kv/pods", {"labelSelector": ["a=b,c=d"], "limit": ["500"]})]
    ready, pending = pods
    assert (ready.name, ready.node, ready.ip, ready.ready) == (
        "demo-tiny-engine-7f9c5d8b6d-2xkqz",
        "tkc-worker",
        "10.244.1.7",
        True,
    )
    assert ready.revision == "7f9c5d8b6d"
    assert ready.claims == {"l2": "demo-l2", "model": "models"}
    assert ready.containers["vllm"].env["PYTHONHASHSEED"] == "0"
    assert ready.containers["lmcache"].env["POD_NAME"] == "<from fieldRef>"
    assert ready.port("vllm", ("http", 1)) == 8000
    assert ready.port("lmcache", ("lmcache-http", 1)) == 8180
    assert ready.l2_base_path() == "/mnt/kv-l2/v1/demo/tiny/0123456789abcdef"
    assert ready.annotations["tiered-kv-cache.io/fingerprint"] == "0123456789abcdef"
    assert not ready.terminating
    assert not ready.finished
    assert (pending.node, pending.ip, pending.ready, pending.phase) == ("", "", False, "Pending")
    assert pending.condition("PodScheduled")["reason"] == "Unschedulable"


def test_empty_list_and_null_fields(api: ApiServer) -> None:
    api.answers["/api/v1/namespaces/kv/pods"] = (200, b'{"kind":"PodList","items":null}')
    assert api.cluster().pods("kv", "") == []
    bare = Pod.parse({"metadata": {"name": "x"}, "spec": {"volumes": None, "containers": None}, "status": None})
    assert (bare.containers, bare.claims, bare.ready, bare.l2_base_path()) == ({}, {}, False, None)


def test_events_are_sorted_by_time(api: ApiServer) -> None:
    events = [
        {"reason": "b", "lastTimestamp": "2026-01-01T00:00:02Z"},
        {"reason": "c", "lastTimestamp": None, "eventTime": "2026-01-01T00:00:03.000000Z"},
        {"reason": "a", "lastTimestamp": "2026-01-01T00:00:01Z"},
    ]
    api.answers["/api/v1/namespaces/kv/events"] = (200, json.dumps({"items": events}).encode())
    assert [e["reason"] for e in api.cluster().events("kv", "x=y")] == ["a", "b", "c"]
    assert api.asked[0][1]["fieldSelector"] == ["x=y"]


def test_claims(api: ApiServer) -> None:
    api.answers["/api/v1/namespaces/kv/persistentvolumeclaims/l2"] = (200, b'{"status":{"phase":"Bound"}}')
    assert api.cluster().claim("kv", "l2") == {"status": {"phase": "Bound"}}
    assert api.cluster().claim("kv", "other") is None


def test_logs(api: ApiServer) -> None:
    api.answers["/api/v1/namespaces/kv/pods/a/log"] = (200, b"one\ntwo\xff\n")
    assert api.cluster().log("kv", "a", "vllm", previous=True) == "one\ntwo�\n"
    assert api.asked[0][1] == {"container": ["vllm"], "previous": ["true"], "tailLines": ["5"], "limitBytes": ["20000"]}
    assert api.cluster().log("kv", "b", "vllm") == ""


@pytest.mark.parametrize("status", [401, 403])
def test_forbidden(api: ApiServer, status: int) -> None:
    api.answers["/api/v1/namespaces/kv/pods"] = (status, b"{}")
    with pytest.raises(ClusterError, match=f"may not list pods in namespace kv \\({status}") as err:
        api.cluster().pods("kv", "")
    assert "Role and RoleBinding of this hook" in err.value.fix


@pytest.mark.parametrize(("body", "part"), [(b"<html>", "not JSON"), (b"[]", "not an object")])
def test_strange_answers(api: ApiServer, body: bytes, part: str) -> None:
    api.answers["/api/v1/namespaces/kv/pods"] = (200, body)
    with pytest.raises(ClusterError, match=part):
        api.cluster().pods("kv", "")


def test_no_api_server(api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "CALL_SECONDS", 1)
    made = api.cluster()
    api.server.shutdown()
    api.server.server_close()
    with pytest.raises(ClusterError, match="cannot list pods in namespace kv: the API server does not answer"):
        made.pods("kv", "")


def test_no_kubeconfig(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="no way into a cluster") as err:
        KubernetesCluster.connect(str(tmp_path / "none"))
    assert "--kubeconfig" in err.value.fix


def test_adopt(api: ApiServer) -> None:
    pods, accounts = "/api/v1/namespaces/ns/pods/demo-verify", "/api/v1/namespaces/ns/serviceaccounts/demo-verify"
    api.answers[pods] = (200, json.dumps({"spec": {"serviceAccountName": "demo-verify"}}).encode())
    api.answers[accounts] = (200, json.dumps({"metadata": {"uid": "u-1"}}).encode())
    api.cluster().adopt("ns", "demo-verify")
    owner = {"apiVersion": "v1", "kind": "ServiceAccount", "name": "demo-verify", "uid": "u-1"}
    assert api.patched == {"metadata": {"ownerReferences": [owner]}}


def test_adopt_refused(api: ApiServer) -> None:
    api.answers["/api/v1/namespaces/ns/pods/demo-verify"] = (403, b'{"kind":"Status"}')
    with pytest.raises(ClusterError, match="may not get pods"):
        api.cluster().adopt("ns", "demo-verify")


PROXIES = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy")


@pytest.fixture
def proxied(monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    """A proxy that answers nobody and remembers who asked; every usual variable names it, with a NO_PROXY of the user's."""
    made = ApiServer()
    for name in PROXIES:
        monkeypatch.setenv(name, f"http://127.0.0.1:{made.server.server_address[1]}")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "169.254.169.254")
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_in_a_pod_no_proxy_comes_between(proxied: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The API server has an address that no NO_PROXY of a user's names."""
    token, authority = tmp_path / "token", tmp_path / "ca.crt"
    token.write_text("t")
    authority.write_text("not empty")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(authority))
    monkeypatch.setattr(cluster_module, "in_cluster", lambda: True)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    assert client.Configuration().proxy, "the client takes proxies from the environment"
    made: list[client.Configuration] = []
    monkeypatch.setattr(client, "ApiClient", made.append)
    KubernetesCluster.connect()
    (configuration,) = made
    assert (configuration.host, configuration.proxy) == ("https://10.96.0.1:443", None)
    # The token is read anew from time to time, by a hook that sets the host again.
    configuration.refresh_api_key_hook(configuration)
    assert configuration.proxy is None


def test_pods_are_never_asked_through_a_proxy(proxied: ApiServer, tmp_path: Path) -> None:
    engine = Engine(tmp_path).start()
    target = EngineClient(f"http://127.0.0.1:{engine.vllm_port}", "tiny", Deadline(30))
    assert target.served_models() == ["tiny"]
    assert target.complete([1, 2, 3], 2).text
    LMCache(f"http://127.0.0.1:{engine.lmcache_port}", Deadline(30)).health()
    assert proxied.asked == []
    # This very proxy is found by a client that trusts the environment.
    assert httpx.get(f"http://127.0.0.1:{engine.vllm_port}/health").status_code == 404
    assert len(proxied.asked) == 1
    engine.stop()


def test_long_lists_come_in_pages(api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "PAGE", 2)
    path = "/api/v1/namespaces/kv/pods"
    pages = [{"items": [{"a": 1}, {"a": 2}], "metadata": {"continue": "next"}}, {"items": [{"a": 3}], "metadata": {}}]
    answers = iter(json.dumps(p).encode() for p in pages)
    api.next_body = lambda asked: next(answers) if asked == path else None
    assert api.cluster().pods("kv", "") == [{"a": 1}, {"a": 2}, {"a": 3}]
    assert [q.get("continue") for _, q in api.asked] == [None, ["next"]]
