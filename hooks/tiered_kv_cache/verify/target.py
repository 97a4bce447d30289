"""One engine Pod as verify talks to it: vLLM, LMCache where it has a port of its own, and their counters together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .. import names
from ..deadline import Deadline
from ..engine import Engine, EngineError
from ..findings import Finding
from ..http import BadAnswer, Unreachable
from ..lmcache import LMCache
from ..metrics import INPROCESS_PREFIX, Counters, MetricsError
from ..pods import Pod
from .config import ModelSpec
from .reach import Reach


class Unauthorized(Exception):
    """vLLM of ``pod`` wants another API key than verify has."""

    def __init__(self, pod: Pod) -> None:
        super().__init__(f"Pod {pod.name} answered 401")
        self.pod = pod


@dataclass
class Target:
    """A Pod and its clients. ``cache`` is None when LMCache has no HTTP port: no tier of its own, or in-process."""

    pod: Pod
    engine: Engine
    cache: LMCache | None
    in_process: bool = False

    @classmethod
    def connect(cls, model: ModelSpec, pod: Pod, reach: Reach, deadline: Deadline, key: str = "") -> Target:
        """Make clients; nothing is sent yet, but a port may be forwarded."""
        vllm = reach.url(pod, pod.port(names.CONTAINER_VLLM, names.PORT_VLLM))
        engine = Engine(vllm, model.served_name, deadline, key)
        cache = None
        if (model.l1 or model.l2) and not model.in_process and names.CONTAINER_LMCACHE in pod.containers:
            cache = LMCache(reach.url(pod, pod.port(names.CONTAINER_LMCACHE, names.PORT_LMCACHE)), deadline)
        return cls(pod, engine, cache, model.in_process)

    def close(self) -> None:
        """Close the clients."""
        self.engine.close()
        if self.cache:
            self.cache.close()

    def counters(self) -> Counters:
        """All scrapes, now."""
        return Counters.read(self.engine.metrics(), self.cache.metrics() if self.cache else None, self.in_process)

    def tells_tiers(self) -> bool:
        """Whether LMCache's own counters can be read, which tell L1 from L2; in-process, vLLM may show them with its own."""
        return self.cache is not None or self.engine.metrics().has_prefix(INPROCESS_PREFIX)


def check(model: ModelSpec, target: Target) -> list[Finding]:
    """Whether the servers of a Pod answer as they must before anything is measured; all faults. Raises Unauthorized."""
    who = f"model {model.name}: Pod {target.pod.name}"
    found: list[Finding] = []
    logs = f"kubectl logs -n {target.pod.namespace} {target.pod.name} --tail=50 -c"

    def ask(call: Callable[[], object], what: str, fix: str, container: str) -> bool:
        try:
            call()
        except (Unreachable, BadAnswer, EngineError, MetricsError) as err:
            if isinstance(err, BadAnswer) and err.status == 401:
                raise Unauthorized(target.pod) from err
            found.append(Finding(f"{who}: {what}: {err}", fix, (f"{logs} {container}",)))
            return False
        return True

    vllm = names.CONTAINER_VLLM
    fix = "see its log, and that a NetworkPolicy lets verify reach it"
    if ask(target.engine.health, "vLLM does not answer", fix, vllm):
        ask(target.engine.metrics, "vLLM's /metrics cannot be read", fix, vllm)
        served: list[str] = []
        readable = ask(
            lambda: served.extend(target.engine.served_models()), "vLLM's /v1/models cannot be read", fix, vllm
        )
        if readable and model.served_name not in served:
            found.append(
                Finding(
                    f"{who}: vLLM serves {', '.join(served) or 'nothing'}, not {model.served_name}",
                    f"set models.{model.name}.servedName to the name that clients use, and restart the Pods",
                )
            )
    if target.cache:
        fix = "see its log; vLLM goes on without a cache meanwhile; and that a NetworkPolicy lets verify reach the port"
        if ask(target.cache.health, "the LMCache server is down", fix, names.CONTAINER_LMCACHE):
            ask(
                target.cache.metrics,
                "the LMCache server's /metrics cannot be read",
                fix,
                names.CONTAINER_LMCACHE,
            )
    return found
