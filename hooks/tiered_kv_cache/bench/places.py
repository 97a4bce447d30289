"""Where requests go: Pods of a release, each with its counters, or endpoints by their URL."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from .. import names
from ..cluster import Cluster
from ..deadline import Deadline
from ..engine import Engine, EngineError
from ..findings import UsageError
from ..http import BadAnswer, Unreachable
from ..metrics import VLLM_PROMPT_TOKENS, Counters, MetricsError
from ..pods import Pod
from ..verify.config import IN_PROCESS, MULTI_PROCESS, ModelSpec
from ..verify.reach import Reach
from ..verify.target import Target
from ..verify.waiting import selector
from .client import Client

IN_PROCESS_CONNECTOR = "LMCacheConnector"


@dataclass
class Spot:
    """One place. ``counts``: its counters can be read; ``l1``, ``l2``: tiers that it has, as far as its Pod tells.

    ``chunk``: tokens that LMCache stores at once, None where there is no LMCache.
    """

    name: str
    node: str
    client: Client
    target: Target
    counts: bool
    l1: bool = False
    l2: bool = False
    chunk: int | None = None
    images: dict[str, str] = field(default_factory=dict)

    @property
    def in_process(self) -> bool:
        """LMCache does not count by tier."""
        return self.target.in_process

    async def counters(self) -> Counters | None:
        """All counters now; None where there are none. Raises what Target.counters raises."""
        return await asyncio.to_thread(self.target.counters) if self.counts else None

    async def reset(self) -> bool:
        """Empty L0; False where that cannot be asked for."""
        return await asyncio.to_thread(self.target.engine.reset_prefix_cache)

    async def empty(self) -> bool:
        """Empty L0 and L1; False where one of them cannot be asked for. Raises what their servers' answers raise."""
        if self.target.cache is None or not await self.reset():
            return False
        await asyncio.to_thread(self.target.cache.clear_l1)
        return True

    async def close(self) -> None:
        """Close all clients."""
        await self.client.close()
        self.target.close()


@dataclass
class Places:
    """``spots``: places that are asked one by one. ``front``: where users' requests go: a router, or the spots in turn."""

    spots: list[Spot]
    front: list[Spot]
    model: str

    @property
    def all(self) -> list[Spot]:
        """Each once."""
        return [*self.spots, *(s for s in self.front if s not in self.spots)]

    async def close(self) -> None:
        """Close all clients."""
        for spot in self.all:
            await spot.close()


def of_release(
    cluster: Cluster, reach: Reach, *, namespace: str, release: str, model: str, deadline: Deadline, key: str
) -> list[Spot]:
    """The Ready engine Pods of a model. Raises UsageError, ClusterError, and what an engine's answer raises."""
    pods = [Pod.parse(raw) for raw in cluster.pods(namespace, selector(release))]
    models = sorted({p.labels.get(names.LABEL_MODEL, "") for p in pods})
    if not models:
        raise UsageError(f"release {release} has no engine Pod in namespace {namespace}. "
                         "Fix: correct --namespace and --release, or install it")  # fmt: skip
    if (not model and len(models) > 1) or (model and model not in models):
        raise UsageError(f"--model {model or 'is missing'}: release {release} has {', '.join(models)}. Fix: give one")
    chosen = model or models[0]
    ready = [p for p in pods if p.labels.get(names.LABEL_MODEL) == chosen and p.ready and not p.terminating]
    if not ready:
        raise UsageError(f"no Pod of model {chosen} is Ready. Fix: wait for the rollout, see "
                         f"kubectl get pods -n {namespace} -l {names.LABEL_MODEL}={chosen}")  # fmt: skip
    return [_spot(pod, reach, chosen, deadline, key) for pod in sorted(ready, key=lambda p: p.name)]


def _spot(pod: Pod, reach: Reach, model: str, deadline: Deadline, key: str) -> Spot:
    url = reach.url(pod, pod.port(names.CONTAINER_VLLM, names.PORT_VLLM))
    served = _served(url, deadline, key, "")
    spec = spec_of(pod, model, served)
    chunk = pod.annotations.get(names.ANNOTATION_CHUNK_SIZE, "")
    return Spot(
        pod.name, pod.node, Client(url, served, key), Target.connect(spec, pod, reach, deadline, key), True,
        spec.l1, spec.l2, int(chunk) if chunk.isdigit() and (spec.l1 or spec.l2) else None,
        {c.name: c.image for c in pod.containers.values() if c.name in (names.CONTAINER_VLLM, names.CONTAINER_LMCACHE)},
    )  # fmt: skip


def spec_of(pod: Pod, model: str, served: str) -> ModelSpec:
    """What a Pod itself tells of its tiers; the chart's own word needs a file that a benchmark from outside lacks."""
    vllm = pod.containers.get(names.CONTAINER_VLLM)
    inside = vllm is not None and any(IN_PROCESS_CONNECTOR in w and "MPConnector" not in w for w in vllm.words)
    lmcache = names.CONTAINER_LMCACHE in pod.containers
    return ModelSpec(
        name=model, served_name=served, replicas=None, chunk_size=256, l0=True, l1=inside or lmcache,
        l2=names.INIT_L2_ROOT in pod.containers, deployment="", mode=IN_PROCESS if inside else MULTI_PROCESS,
    )  # fmt: skip


def of_url(url: str, served: str, deadline: Deadline, key: str) -> Spot:
    """An endpoint that only its URL is known of. Raises UsageError, and what an endpoint's answer raises."""
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"--url {url} is no URL. Fix: give such as http://127.0.0.1:8000")
    # Clients are told a base that ends in /v1; ours add it.
    base = url.rstrip("/").removesuffix("/v1")
    model = _served(base, deadline, key, served)
    engine = Engine(base, model, deadline, key)
    pod = Pod.parse({"metadata": {"name": base}})
    return Spot(base, "", Client(base, model, key), Target(pod, engine, None), _counts(engine))


def _served(url: str, deadline: Deadline, key: str, wanted: str) -> str:
    engine = Engine(url, wanted, deadline, key)
    try:
        found = engine.served_models()
    except BadAnswer as err:
        if err.status in (401, 403):
            raise UsageError(f"{url} asks for an API key. Fix: set {names.ENV_API_KEY}") from err
        raise
    finally:
        engine.close()
    if (wanted and wanted not in found) or not found:
        raise UsageError(
            f"{url} serves {', '.join(found) or 'nothing'}, not {wanted or 'a model'}. Fix: correct --served-name"
        )
    return wanted or found[0]


def _counts(engine: Engine) -> bool:
    """Whether the endpoint is one vLLM, whose counters are those of what is sent here. A router's would be of others."""
    try:
        return engine.metrics().has_prefix(VLLM_PROMPT_TOKENS)
    except (BadAnswer, Unreachable, EngineError, MetricsError):
        return False
