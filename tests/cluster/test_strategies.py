"""Where requests land with each strategy: real vLLM, per-Pod counters, streamed and not. One release, switched by upgrades."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from local_cluster import volumes
from local_cluster.helm import Helm

from .api import Api, wait_for
from .conftest import MODEL, VALUES
from .engines import Engines, words

NAMESPACE = "tkc-routes"
RELEASE = "routes"
REPEATS = 9
GROUPS = 12
"""Prefixes or sessions; with the first request of each, 120 requests a strategy."""


class Routes:
    """The release with one of the strategies, and what its router does."""

    def __init__(self, api: Api, helm: Helm) -> None:
        self.api, self.helm = api, helm
        self.engines = Engines(api, NAMESPACE, RELEASE, MODEL)

    def use(self, strategy: str) -> None:
        """Upgrade to a strategy, and wait until the new router knows both engines."""
        # One size of blocks, as kvaware asks for, with all strategies: so the engines restart less often.
        settings = {"routing.strategy": strategy, "cache.chunkSize": 128, "engine.blockSize": 128}
        options = [word for key, value in settings.items() for word in ("--set", f"models.{MODEL}.{key}={value}")]
        options += ["--set", "gateway.enabled=true"]
        done = self.helm.upgrade(*options, wait_s=900)
        assert done.ok, done.text
        self.settled()

    def settled(self) -> None:
        """Wait for two Ready engines, one router, and until it knows them."""
        self.engines.ready(2, 600)
        wait_for("one router", lambda: len(self._pods("router")) == 1, 180)
        addresses = sorted(f"http://{pod.status.pod_ip}:8000" for pod in self.engines.pods())
        wait_for("both engines known", lambda: sorted(self._get("/list_workers")["urls"]) == addresses, 120)

    def _pods(self, component: str) -> list[object]:
        selector = f"app.kubernetes.io/instance={RELEASE},app.kubernetes.io/component={component}"
        pods = self.api.core.list_namespaced_pod(NAMESPACE, label_selector=selector).items
        return [pod for pod in pods if not pod.metadata.deletion_timestamp]

    def url(self, component: str = "router") -> str:
        """Where a component's one Pod answers."""
        (pod,) = self._pods(component)
        return self.api.url(pod, 8000)

    def _get(self, path: str) -> dict[str, list[str]]:
        return dict(httpx.get(self.url() + path, timeout=30).raise_for_status().json())

    def ask(self, prompt: str, stream: bool, session: str = "") -> None:
        """One completion through the router.

        Raises:
            AssertionError: it is not 200, or the stream has no end.
        """
        body = {"model": MODEL, "prompt": prompt, "max_tokens": 4, "temperature": 0, "stream": stream}
        headers = {"X-Session-ID": session} if session else {}
        answer = httpx.post(self.url() + "/v1/completions", json=body, headers=headers, timeout=180)
        assert answer.status_code == 200, answer.text
        assert not stream or answer.text.rstrip().endswith("data: [DONE]")

    def finished(self) -> Counter[str]:
        """Requests that each engine has finished, by Pod name."""
        return Counter(
            {
                pod.metadata.name: int(self.engines.vllm(pod).total("vllm:request_success_total"))
                for pod in self.engines.pods()
            }
        )

    def landed(self, prompts: list[str], stream: bool, session: str = "") -> Counter[str]:
        """Ask these, one after the other; where they went."""
        before = self.finished()
        for prompt in prompts:
            self.ask(prompt, stream, session)
        wait_for("all counted", lambda: (self.finished() - before).total() == len(prompts), 30)
        return self.finished() - before


@pytest.fixture(scope="module")
def routes(kubeconfig: Path, api: Api, image_values: list[Path]) -> Iterator[Routes]:
    volumes.remove_namespace(kubeconfig, NAMESPACE)
    api.wait_namespace_gone(NAMESPACE)
    volumes.ensure_namespace(kubeconfig, NAMESPACE)
    volumes.ensure_models_claim(kubeconfig, NAMESPACE)
    helm = Helm(kubeconfig, NAMESPACE, RELEASE, [VALUES, *image_values])
    yield Routes(api, helm)
    helm.uninstall()
    volumes.remove_namespace(kubeconfig, NAMESPACE)


def _questions(label: str, count: int, first: int = 0) -> list[str]:
    """Prompts of about a thousand tokens that begin alike; every seventh word or so is a token of its own."""
    return [f"{words(label)} question {number}" for number in range(first, first + count)]


def test_roundrobin_is_even(routes: Routes) -> None:
    routes.use("roundrobin")
    for stream in (False, True):
        share = routes.landed([f"request {number}" for number in range(100)], stream)
        assert all(abs(count - 50) <= 5 for count in share.values()), share


def test_session_is_sticky_while_others_restart(routes: Routes, api: Api) -> None:
    routes.use("session")
    owners: dict[str, str] = {}
    for number in range(GROUPS):
        share = routes.landed(["the same text"] * 5, number % 2 == 0, f"s{number}")
        assert len(share) == 1, f"session {number}: {share}"
        owners[f"s{number}"] = next(iter(share))
    assert len(set(owners.values())) == 2, "all sessions at one engine"
    kept, lost = routes.engines.pods()
    staying = [session for session, pod in owners.items() if pod == kept.metadata.name]
    api.core.delete_namespaced_pod(lost.metadata.name, NAMESPACE)
    for number in range(40):
        routes.ask("the same text", number % 2 == 0, staying[number % len(staying)])
    routes.settled()
    for number, session in enumerate(staying):
        share = routes.landed(["the same text"] * 5, number % 2 == 0, session)
        assert set(share) == {kept.metadata.name}, f"{session}: {share}"


def _share_at_owner(routes: Routes, label: str) -> float:
    """Share of repeated prompts that went where their beginning had gone."""
    right = 0
    for number in range(GROUPS):
        stream = number % 2 == 0
        (owner,) = routes.landed(_questions(f"{label}{number}", 1), stream)
        right += routes.landed(_questions(f"{label}{number}", REPEATS, 1), stream)[owner]
    return right / (GROUPS * REPEATS)


def test_prefixaware_follows_prefixes(routes: Routes) -> None:
    routes.use("prefixaware")
    assert _share_at_owner(routes, "p") >= 0.95


def test_kvaware_follows_blocks(routes: Routes) -> None:
    routes.use("kvaware")
    assert _share_at_owner(routes, "k") >= 0.95


def test_kvaware_after_a_cache_is_cleared(routes: Routes) -> None:
    """The blocks of `k0` to `k11` lie in two Pods. One loses all of its own: whoever has a prefix then, gets it."""
    cleared, other = routes.engines.pods()
    routes.engines.clear_l0(cleared)
    right = asked = 0
    for number in range(GROUPS):
        stream = number % 2 == 0
        (owner,) = routes.landed(_questions(f"k{number}", 1, 50), stream)
        right += routes.landed(_questions(f"k{number}", REPEATS, 51), stream)[owner]
        asked += REPEATS
    assert right / asked >= 0.95
    assert other.metadata.name in routes.finished()


def test_gateway_goes_by_model(routes: Routes) -> None:
    url = routes.url("gateway")
    models = httpx.get(f"{url}/v1/models", timeout=30).json()["data"]
    assert [model["id"] for model in models] == [MODEL]
    for stream in (False, True):
        body = {"model": MODEL, "prompt": "one two", "max_tokens": 4, "stream": stream}
        answer = httpx.post(f"{url}/v1/completions", json=body, timeout=180)
        assert answer.status_code == 200, answer.text
    missing = httpx.post(f"{url}/v1/completions", json={"model": "none", "prompt": "x"}, timeout=30)
    assert missing.status_code == 404
