"""The engine Pods of one model: ask one of them, read what its caches did."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

import httpx
from kubernetes import client

from tiered_kv_cache.metrics import Counters, Samples

from .api import Api, wait_for

CHUNK = 256
"""Tokens of an LMCache chunk, as in values/tiny.yaml."""


@dataclass(frozen=True)
class Answer:
    """A finished completion; tokens as vLLM counts them."""

    text: str
    prompt_tokens: int

    @property
    def full_chunks(self) -> int:
        """Tokens of the prompt that lie in whole chunks: all that can be cached."""
        return self.prompt_tokens // CHUNK * CHUNK


RUN = secrets.token_hex(2)
"""In each prompt: what an earlier run has cached is on the volume still."""


def words(label: str, count: int = 200) -> str:
    """A prompt that no other label and no other run has."""
    return " ".join(f"{RUN}{label}{index}" for index in range(count))


class Engines:
    """One model of one release.

    Args:
        model: key in the models map.
    """

    def __init__(self, api: Api, namespace: str, release: str, model: str) -> None:
        self.api, self.namespace, self.release, self.model = api, namespace, release, model

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

    def post(self, pod: client.V1Pod, path: str, body: dict[str, Any], timeout_s: float = 120) -> httpx.Response:
        """POST to a Pod's vLLM, past router and NetworkPolicy."""
        return httpx.post(self.api.url(pod, 8000) + path, json=body, timeout=timeout_s)

    def ask(self, pod: client.V1Pod, prompt: str, tokens: int = 16, **more: object) -> Answer:
        """A greedy completion by this very Pod.

        Raises:
            AssertionError: the answer is not 200.
        """
        body = {
            "model": self.model,
            "prompt": prompt,
            "max_tokens": tokens,
            "temperature": 0,
            "ignore_eos": True,
            **more,
        }
        answer = self.post(pod, "/v1/completions", body)
        assert answer.status_code == 200, f"{pod.metadata.name}: {answer.status_code} {answer.text[:500]}"
        whole = answer.json()
        return Answer(whole["choices"][0]["text"], int(whole["usage"]["prompt_tokens"]))

    def counters(self, pod: client.V1Pod) -> Counters:
        return Counters.read(self.vllm(pod), self.lmcache(pod))

    def vllm(self, pod: client.V1Pod) -> Samples:
        return Samples(self.api.pod_text(pod, 8000, "/metrics"))

    def lmcache(self, pod: client.V1Pod) -> Samples:
        return Samples(self.api.pod_text(pod, 8180, "/metrics"))

    def fill(self, pod: client.V1Pod, prompt: str) -> Answer:
        """Ask, and wait until every whole chunk of the prompt is a file of L2. Nothing of it may be cached before."""
        before = self.counters(pod)
        answer = self.ask(pod, prompt)
        chunks = answer.full_chunks // CHUNK
        wait_for("chunks stored", lambda: self.counters(pod).since(before).stored_chunks >= chunks, 60)
        return answer

    def hits(self, pod: client.V1Pod, prompt: str, **more: object) -> tuple[Answer, Counters]:
        """Ask; the answer, and what the Pod's counters did meanwhile."""
        before = self.counters(pod)
        answer = self.ask(pod, prompt, **more)  # type: ignore[arg-type]
        return answer, self.counters(pod).since(before)
