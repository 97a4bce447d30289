"""An upgrade rolls the Pods, keeps the fingerprint, and what was cached before it is still hit."""

from __future__ import annotations

from local_cluster.helm import Helm

from .api import Api
from .conftest import MODEL

PROMPT = " ".join(f"word{i}" for i in range(400))
_HITS = "lmcache_mp_lookup_hit_l2_tokens_total"


def _l2_hits(api: Api, release: Helm) -> float:
    lines = [
        line for pod in api.engine_pods(release.namespace, release.release)
        for line in api.pod_text(pod, 8180, "/metrics").splitlines() if line.startswith(_HITS)
    ]  # fmt: skip
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines)


def _ask(api: Api, release: Helm) -> str:
    body = {"model": MODEL, "prompt": PROMPT, "max_tokens": 8, "temperature": 0}
    return str(api.post(release.namespace, f"{release.release}-{MODEL}", "/v1/completions", body)["choices"][0]["text"])


def test_cache_survives_an_upgrade(release: Helm, api: Api) -> None:
    text = _ask(api, release)
    before = {
        pod.metadata.name: pod.metadata.annotations for pod in api.engine_pods(release.namespace, release.release)
    }
    done = release.upgrade("--set", f"models.{MODEL}.engine.maxModelLen=3072", wait_s=600)
    assert done.ok, done.text
    after = {pod.metadata.name: pod.metadata.annotations for pod in api.engine_pods(release.namespace, release.release)}
    assert not set(before) & set(after), "the Pods were not replaced"
    fingerprints = {notes["tiered-kv-cache.io/fingerprint"] for notes in (*before.values(), *after.values())}
    assert len(fingerprints) == 1
    assert _l2_hits(api, release) == 0
    assert _ask(api, release) == text
    assert _l2_hits(api, release) >= 256
