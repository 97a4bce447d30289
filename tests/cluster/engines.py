"""The engine Pods of one model: ask one of them, read what its caches did."""

from __future__ import annotations

import json
import random
import secrets
from dataclasses import dataclass
from typing import Any

import httpx
from kubernetes import client

from tiered_kv_cache.deadline import Deadline
from tiered_kv_cache.engine import Engine
from tiered_kv_cache.metrics import Counters, Samples

from .api import Api, wait_for

CHUNK = 256
"""Tokens of an LMCache chunk, as in values/tiny.yaml."""


@dataclass(frozen=True)
class Answer:
    """A finished completion; tokens as vLLM counts them."""

    text: str
    prompt_tokens: int
    chunk: int = CHUNK

    @property
    def full_chunks(self) -> int:
        """Tokens of the prompt that lie in whole chunks: all that can be cached."""
        return self.prompt_tokens // self.chunk * self.chunk


RUN = secrets.token_hex(2)
"""In each prompt: what an earlier run has cached is on the volume still."""


Prompt = str | list[int]


def prompt_of(label: str, tokens: int = 700) -> list[int]:
    """A prompt that no other label and no other run has, as token ids: so its length is known everywhere."""
    return random.Random(f"{RUN}{label}").choices(range(300, 8000), k=tokens)


def words(label: str, count: int = 200) -> str:
    """A text that no other label and no other run has, of 9 to 12 tokens a word."""
    return " ".join(f"{RUN}{label}{index}" for index in range(count))


class Engines:
    """One model of one release.

    Args:
        model: key in the models map.
        served: what clients call it; empty: by the key.
        chunk: its cache.chunkSize.
    """

    def __init__(
        self, api: Api, namespace: str, release: str, model: str, *, served: str = "", chunk: int = CHUNK
    ) -> None:
        self.api, self.namespace, self.release, self.model = api, namespace, release, model
        self.served, self.chunk = served or model, chunk

    def pods(self) -> list[client.V1Pod]:
        """Its Pods that do not end, by name."""
        label = "tiered-kv-cache.io/model"
        pods = self.api.engine_pods(self.namespace, self.release)
        return sorted((pod for pod in pods if pod.metadata.labels[label] == self.model), key=lambda p: p.metadata.name)

    def ready(self, count: int, timeout_s: float = 300) -> list[client.V1Pod]:
        """Wait for exactly this many Pods, all of them Ready."""
        wait_for(f"{count} ready Pods of {self.model}", lambda: self._ready() == count == len(self.pods()), timeout_s)
        return self.pods()

    def _ready(self) -> int:
        conditions = [{c.type: c.status for c in pod.status.conditions or []} for pod in self.pods()]
        return sum(condition.get("Ready") == "True" for condition in conditions)

    def post(self, pod: client.V1Pod, path: str, body: dict[str, Any], timeout_s: float = 300) -> httpx.Response:
        """POST to a Pod's vLLM, past router and NetworkPolicy."""
        return httpx.post(self.api.url(pod, 8000) + path, json=body, timeout=timeout_s)

    def ask(self, pod: client.V1Pod, prompt: Prompt, tokens: int = 16, **more: object) -> Answer:
        """A greedy completion by this very Pod.

        Raises:
            AssertionError: the answer is not 200.
        """
        body = {
            "model": self.served,
            "prompt": prompt,
            "max_tokens": tokens,
            "temperature": 0,
            "ignore_eos": True,
            **more,
        }
        answer = self.post(pod, "/v1/completions", body)
        assert answer.status_code == 200, f"{pod.metadata.name}: {answer.status_code} {answer.text[:500]}"
        whole = answer.json()
        return Answer(whole["choices"][0]["text"], int(whole["usage"]["prompt_tokens"]), self.chunk)

    def complete(self, pod: client.V1Pod, prompt: list[int], tokens: int = 16) -> float:
        """A streamed completion of these token ids by this very Pod; milliseconds to the first token."""
        engine = Engine(self.api.url(pod, 8000), self.served, Deadline(300))
        try:
            return engine.complete(prompt, tokens).ttft_ms
        finally:
            engine.close()

    def counters(self, pod: client.V1Pod) -> Counters:
        return Counters.read(self.vllm(pod), self.lmcache(pod))

    def vllm(self, pod: client.V1Pod) -> Samples:
        return Samples(self.api.pod_text(pod, 8000, "/metrics"))

    def lmcache(self, pod: client.V1Pod) -> Samples:
        return Samples(self.api.pod_text(pod, 8180, "/metrics"))

    def fill(self, pod: client.V1Pod, prompt: Prompt) -> Answer:
        """Ask, and wait until every whole chunk of the prompt is a file of L2. Nothing of it may be cached before."""
        before = self.counters(pod)
        answer = self.ask(pod, prompt)
        chunks = answer.full_chunks // self.chunk
        wait_for("chunks stored", lambda: self.counters(pod).since(before).stored_chunks >= chunks, 60)
        return answer

    def hits(self, pod: client.V1Pod, prompt: Prompt, **more: object) -> tuple[Answer, Counters]:
        """Ask; the answer, and what the Pod's counters did meanwhile."""
        before = self.counters(pod)
        answer = self.ask(pod, prompt, **more)  # type: ignore[arg-type]
        return answer, self.counters(pod).since(before)

    def clear_l1(self, pod: client.V1Pod, *, force: bool = False) -> None:
        """Empty a Pod's L1; what a request has locked stays, unless by `force`."""
        body = {"tier": "l1", "force": force}
        httpx.post(self.api.url(pod, 8180) + "/cache/clear", json=body, timeout=60).raise_for_status()

    def clear_l0(self, pod: client.V1Pod) -> None:
        """Empty a Pod's L0; the values allow it by VLLM_SERVER_DEV_MODE."""
        self.post(pod, "/reset_prefix_cache", {}).raise_for_status()

    def add_lmcache_arguments(self, *arguments: str) -> None:
        """Give LMCache arguments for which the chart has no key, and wait until all Pods have them."""
        name = f"{self.release}-{self.model}-engine"
        deployment = self.api.apps.read_namespaced_deployment(name, self.namespace)
        before = {pod.metadata.name for pod in self.pods()}
        (lmcache,) = [c for c in deployment.spec.template.spec.containers if c.name == "lmcache"]
        containers = [{"name": "lmcache", "args": [*lmcache.args, *arguments]}]
        change = {"spec": {"template": {"spec": {"containers": containers}}}}
        self.api.apps.patch_namespaced_deployment(name, self.namespace, change)
        wait_for("all Pods replaced", lambda: not before & {pod.metadata.name for pod in self.pods()}, 300)
        self.ready(len(before))

    def lmcache_status(self, pod: client.V1Pod) -> dict[str, Any]:
        """What LMCache says about itself: locks held, objects, tasks."""
        return dict(json.loads(self.api.pod_text(pod, 8180, "/status")))

    def signal(self, pod: client.V1Pod, title: str, name: str) -> None:
        """Signal (`STOP`, `CONT`, `KILL` …) a vLLM process of a Pod by its title, such as `VLLM::EngineCore`."""
        script = (
            "import os, pathlib, signal\n"
            "found = [int(p.parent.name) for p in pathlib.Path('/proc').glob('[0-9]*/cmdline')"
            f" if p.read_bytes().startswith({title.encode()!r})]\n"
            f"assert found, 'no process called {title}'\n"
            f"[os.kill(pid, signal.SIG{name}) for pid in found]\n"
        )
        self.api.run(self.namespace, pod.metadata.name, "vllm", ["python3", "-c", script])

    def restarts(self, pod: client.V1Pod, container: str) -> int:
        """Restarts of a container that runs now; -1 while it does not."""
        now = self.api.core.read_namespaced_pod(pod.metadata.name, self.namespace)
        (state,) = [s for s in now.status.container_statuses if s.name == container]
        return int(state.restart_count) if state.ready else -1

    def restarted(self, pod: client.V1Pod, container: str, times: int) -> None:
        """Wait until a container has been restarted so many times and is ready again."""
        wait_for(f"{container} restarted", lambda: self.restarts(pod, container) == times, 180)
