"""Requests through the router reach both Pods in turn and get the same answer."""

from __future__ import annotations

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from local_cluster.helm import Helm

from .api import Api
from .conftest import MODEL

REQUESTS = 10
_SUCCESS = "vllm:request_success"


def _answered(api: Api, release: Helm) -> dict[str, float]:
    """Requests that each engine Pod has finished, by Pod name."""
    counts = {}
    for pod in api.engine_pods(release.namespace, release.release):
        families = text_string_to_metric_families(api.pod_text(pod, 8000, "/metrics"))
        counts[pod.metadata.name] = sum(
            s.value for f in families if f.name == _SUCCESS for s in f.samples if s.name.endswith("_total")
        )
    return counts


def test_round_robin_reaches_both_pods(release: Helm, api: Api) -> None:
    before = _answered(api, release)
    body = {"model": MODEL, "prompt": "one two three", "max_tokens": 8, "temperature": 0}
    texts = {
        api.post(release.namespace, f"{release.release}-{MODEL}", "/v1/completions", body)["choices"][0]["text"]
        for _ in range(REQUESTS)
    }
    assert len(texts) == 1
    share = {pod: count - before[pod] for pod, count in _answered(api, release).items()}
    assert sum(share.values()) == REQUESTS
    assert min(share.values()) >= REQUESTS / 2 - 1, share


@pytest.mark.parametrize("port", [8000, 8180])
def test_strangers_reach_no_engine(release: Helm, api: Api, port: int) -> None:
    """The engine's port has no authentication and LMCache's clears the cache: only router and verify may call them."""
    for pod in api.engine_pods(release.namespace, release.release):
        path = "/health" if port == 8000 else "/healthcheck"
        api.pod_text(pod, port, path)  # answers from inside the Pod; raises when it does not
        with pytest.raises(httpx.HTTPStatusError, match="error trying to reach service"):
            api.proxy(pod, port, path)


def test_log_probabilities_do_not_end_an_engine(release: Helm, api: Api) -> None:
    """vLLM compiles code for the first request that asks for them, and the image has no compiler."""
    body = {"model": MODEL, "prompt": "one two three", "max_tokens": 2, "temperature": 0, "logprobs": 5}
    for _ in range(2):
        answer = api.post(release.namespace, f"{release.release}-{MODEL}", "/v1/completions", body)
        assert len(answer["choices"][0]["logprobs"]["token_logprobs"]) == 2
